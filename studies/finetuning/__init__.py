"""Subsets for fine-tuning: chosen for, and proved with, a network that starts from weights."""
