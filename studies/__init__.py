"""Studies: one folder a paper, each one command, through the public API only."""
