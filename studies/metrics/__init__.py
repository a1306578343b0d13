"""What the data-pruning paper (Sorscher et al. 2022) says of its metrics, in small and with random beside."""
