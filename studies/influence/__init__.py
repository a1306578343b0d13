"""The claims of the dataset-pruning paper (Yang et al. 2023), redone, and certificates checked by retraining."""
