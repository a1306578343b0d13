"""The claims of ReLA (Sun et al. 2024), redone with seeds, intervals, shuffled targets and stage 1 alone beside."""
