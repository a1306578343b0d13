"""Proof: retraining on subsets, the cost ledger, paired comparisons. Knows nothing of scores or selectors."""
