"""Data: one adapter a file, and `open.py`, the door that chooses among them.

An adapter is a function `(what, asked) -> Source`. It finds out the size, the shape and the targets, leaves the
inputs where they are, and hands the rest to `assembly.assemble`, so that targets, ids, class numbers and
resizing mean the same thing whatever the format. To add one: write `data/<format>.py` with such a function, and
add its row to the table in `open.py`.
"""

from __future__ import annotations
