"""The vocabulary of every other room: errors, checks, seeds, progress, the registry, files and the run directory.

Nothing here knows machine learning, and nothing here imports torch.
"""
