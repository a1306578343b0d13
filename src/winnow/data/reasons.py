"""Quoting another library's error inside one sentence of ours."""

from __future__ import annotations

__all__ = ["reason"]


def reason(error: Exception) -> str:
    """The first sentence of an error's text, on one line, without its full stop.

    >>> reason(ValueError("magic bytes not found.\\n Either the file is corrupted or it is not parquet."))
    'magic bytes not found'
    """
    text = "; ".join(map(str, error.args)) if len(error.args) > 1 and not isinstance(error, OSError) else str(error)
    first = " ".join(text.split()).split(". ")[0].rstrip(". ")
    return first or type(error).__name__
