"""Callbacks for other people's trainers, one file per framework; each imports its framework only there."""
