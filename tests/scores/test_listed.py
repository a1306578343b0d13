"""A method in a file of its room is listed as soon as winnow is imported, whatever else was imported before."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import winnow

ROOT = Path(winnow.__file__).parent


@pytest.mark.parametrize(("room", "kind"), [("scores", "score"), ("selectors", "selector")])
def test_every_registered_file_is_listed_in_a_new_process(room: str, kind: str) -> None:
    declared = {
        path.stem for path in (ROOT / room).glob("*.py") if re.search(rf"^@registry\.{kind}\(", path.read_text(), re.M)
    }
    ask = f"import winnow as wn; print(*(m.name for m in wn.list_{kind}s() if m.package == 'winnow'))"
    said = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert set(said.stdout.split()) == declared
