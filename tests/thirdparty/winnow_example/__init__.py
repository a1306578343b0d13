"""Someone else's methods for winnow: importing this module registers them."""

from __future__ import annotations

from . import score, selector, signal, source  # noqa: F401
