"""The local viewer: a small server on this machine, and the page that it serves. `view.py` is the door."""
