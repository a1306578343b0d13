"""Data sources: one adapter per file, and `open.py`, the public function that chooses among them.

An adapter is a function `(what, asked) -> Source`. It finds out the size, the shape and the targets, leaves the
inputs where they are, and passes the rest to `assembly.assemble`, so that targets, ids, class numbers and resizing
mean the same for every format. To add one: write `sources/<format>.py` with such a function, and register it in
`open.py` with how it recognises what it opens; in another package, under `@registry.source`.
"""

from __future__ import annotations
