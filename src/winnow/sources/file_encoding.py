"""The encoding of text files: UTF-8 if none is declared; never guessed, and never repaired."""

from __future__ import annotations

import codecs
import io
from typing import IO, Any

from ..core.errors import InputError
from ..core.parameter_names import of

__all__ = ["ORIGIN", "checked_encoding", "decoded", "is_utf8", "not_utf8", "recoded"]

ORIGIN = "file_encoding"  # where the origin of a source says which one was declared
PIECE = 1 << 20  # bytes looked at together


def checked_encoding(value: Any) -> str | None:
    """Return the usual name of an encoding of text, or raise."""
    if value is None:
        return None
    try:
        found = codecs.lookup(value)
        if found._is_text_encoding:
            return found.name
    except (LookupError, TypeError, ValueError):
        pass
    raise InputError(
        f"{of('encoding', 'wn.open')} must be a character encoding that Python knows, such as 'latin-1', 'cp1252' or "
        f"'utf-16'; got {value!r:.80}."
    )


def not_utf8() -> str:
    """What is wrong with a file that is not UTF-8, and what to do about it."""
    return f"is not UTF-8, so its letters cannot be told for sure; declare {of('encoding', 'wn.open')}, such as latin-1"


def decoded(content: bytes, encoding: str | None) -> str:
    """Return the text of a file, without a byte order mark; raises UnicodeError if the bytes do not fit."""
    return content.decode("utf-8-sig" if encoding in (None, "utf-8") else encoding).removeprefix("\ufeff")


def recoded(file: IO[bytes], encoding: str | None) -> IO[bytes]:
    """Return the same file in UTF-8: itself if no encoding is declared, so that nothing is read yet."""
    if encoding in (None, "utf-8"):
        return file
    return io.BytesIO(decoded(file.read(), encoding).encode())


def is_utf8(file: IO[bytes]) -> bool:
    """Whether all of a file is UTF-8 text; every other byte of plain text in UTF-16 is 0, which text never is."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        while piece := file.read(PIECE):
            if "\0" in decoder.decode(piece):
                return False
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True
