"""The lpNTK paper's claims (Guo et al. 2024), each redone with seeds, intervals and random beside it."""
