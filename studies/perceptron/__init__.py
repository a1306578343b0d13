"""The perceptron theory of pruning beside simulation: the paper's figures redone, and how well both agree."""
