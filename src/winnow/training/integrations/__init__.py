"""Callbacks for other trainers, one file per framework, which is the only one that imports it."""
