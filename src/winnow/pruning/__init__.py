"""`prune` and `prune_with_proof`: from a source to a subset, and on to its proof, in one resumable run."""
