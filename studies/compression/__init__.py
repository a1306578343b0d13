"""The claims of the universal-compression paper (Wang et al. 2025), redone with seeds, intervals and random beside."""
