"""Tools for those who work on winnow: what the house measures, and its map."""
