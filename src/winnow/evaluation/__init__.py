"""Evaluation: retraining on subsets, costs, paired comparisons. It does not depend on scores or selectors."""
