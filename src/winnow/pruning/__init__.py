"""`prune` and `prune_with_proof`: from a source to a subset and its proof, in one resumable run."""
