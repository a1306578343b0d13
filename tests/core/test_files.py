"""Files and fingerprints: bytes that stay the same, numbers that JSON cannot hold, names fit for any disk."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest

from winnow.core.errors import StoreError
from winnow.core.files import PART, atomic, file_name, fingerprint, plain, read_json, write_json


def test_equal_content_is_equal_bytes(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"b": 1, "a": [2]})
    write_json(tmp_path / "b.json", {"a": [2], "b": 1})
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert (tmp_path / "a.json").read_text() == '{\n "a": [\n  2\n ],\n "b": 1\n}\n'
    assert read_json(tmp_path / "a.json") == {"a": [2], "b": 1}


def test_what_json_cannot_hold_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(tmp_path / "a.json", {"loss": math.nan})
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_on_disk_before_it_takes_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or a power cut could leave the new name on an empty file."""
    seen = []
    flush = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (seen.append((tmp_path / "a.txt").exists()), flush(handle)))
    with atomic(tmp_path / "a.txt") as part:
        part.write_text("whole")
        assert part.name.endswith(PART)
        assert part.parent == tmp_path
    assert seen == [False, True]  # the file, then the folder with its name


def test_no_file_stays_open(tmp_path: Path) -> None:
    folder = Path("/dev/fd")
    before = len(list(folder.iterdir()))
    for number in range(20):
        write_json(tmp_path / f"{number}.json", number)
    assert len(list(folder.iterdir())) <= before + 1


def test_fingerprints_are_those_of_earlier_versions() -> None:
    """Every run on disk records them: another value would make all steps again."""
    assert fingerprint("ab", {"b": 1, "a": [2.5, None]}) == "da69a08d598c7405b4d2a288889757a7"
    assert fingerprint(b"ab", b"c") != fingerprint(b"a", b"bc")
    assert fingerprint(b"ab") != fingerprint("ab")
    assert fingerprint(Path("x")) == fingerprint("x")


def test_a_file_name_is_itself_or_made_fit() -> None:
    assert file_name("el2n+strata@0.5") == "el2n+strata@0.5"
    assert file_name("a" * 60) == "a" * 60
    for name in ("Caps", "a b", "../up", ".hidden", "a" * 61, "weiß"):
        made = file_name(name)
        assert made != name
        assert len(made) <= 60 + 1 + 10
        assert "/" not in made
        assert not made.startswith(".")
        assert made.split("~")[1] == fingerprint(name)[:10]
    assert file_name("a b") != file_name("a  b")


def test_plain_values_for_json() -> None:
    given = {1: np.float32(0.5), "list": (np.int64(3), [math.inf, -math.inf]), "rows": np.array([[1.0, math.nan]])}
    assert plain(given) == {"1": 0.5, "list": [3, [None, None]], "rows": [[1.0, None]]}
    assert plain({"out": Path("run"), "kind": {1}.__class__}) == {"out": "run", "kind": str(set)}
    for value in ("text", True, None, 7, 0.25):
        assert plain(value) is value


def test_a_damaged_or_missing_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "half.json").write_text('{"a": ')
    for name in ("half.json", "missing.json"):
        with pytest.raises(StoreError, match=f"cannot read .*{name}"):
            read_json(tmp_path / name)
