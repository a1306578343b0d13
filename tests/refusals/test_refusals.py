"""Every kind of bad input gets one sentence, and the docs show the very sentence it gets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.refusals.cases import CASES, answer, names, prepare


@pytest.fixture(scope="module")
def known() -> dict[str, Any]:
    return names()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("refusals")
    prepare(made)
    return made


@pytest.mark.parametrize(("what", "typed"), CASES, ids=[case[0] for case in CASES])
def test_one_sentence(what: str, typed: str, known, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    line = answer(typed, known)
    assert 10 < len(line) < 600
    if "winnow prun " not in typed:  # the option parser's own usage lines
        assert "\n" not in line
    assert "Traceback" not in line


def test_there_are_enough_kinds() -> None:
    assert len({what for what, _ in CASES}) == len(CASES) >= 40
