"""Code blocks of a Markdown page."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str = "python") -> list[str]:
    """The blocks of a language in a page of the repository, in order."""
    return [body for name, body in _BLOCK.findall((ROOT / page).read_text()) if name == language]
