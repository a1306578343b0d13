"""Checks, errors, seeds, registry and progress: the words every room uses."""

from __future__ import annotations

import io
import sys
import time

import numpy as np
import pytest

from winnow.core import checks, errors, progress, registry, seeds
from winnow.core.errors import InputError, UnknownNameError, WinnowError

REFUSED = [
    ("a fraction of zero", lambda: checks.fraction("keep", "select", 0), "keep of select must be a number in (0, 1]"),
    ("a fraction above one", lambda: checks.fraction("keep", "select", 1.5), "got 1.5"),
    ("a fraction that is NaN", lambda: checks.fraction("keep", "select", float("nan")), "got nan"),
    ("a fraction that is text", lambda: checks.fraction("keep", "select", "half"), "got 'half'"),
    ("a fraction that is True", lambda: checks.fraction("keep", "select", True), "got True"),
    ("a float count", lambda: checks.integer("size", "select", 2.0, low=1), "must be a whole number of at least 1"),
    ("both keep and size", lambda: checks.size_from("select", 9, 0.5, 3), "exactly one of keep="),
    ("neither keep nor size", lambda: checks.size_from("select", 9), "exactly one of keep="),
    ("a size above n", lambda: checks.size_from("select", 9, size=10), "from 1 to 9; got 10"),
    ("an unknown word", lambda: checks.choice("task", "open", "clasification", ["classification", "regression"]),
     "(nearest: 'classification')"),
    ("text for numbers", lambda: checks.array("x", "fit", ["a", "b"]), "must be an array of numbers"),
    ("ragged rows", lambda: checks.array("x", "fit", [[1, 2], [3]]), "must be an array of numbers"),
    ("an empty array", lambda: checks.array("x", "fit", []), "must not be empty"),
    ("a wrong rank", lambda: checks.array("x", "fit", [1.0], ndim=2), "must have 2 dimension(s)"),
    ("a wrong length", lambda: checks.array("x", "fit", [1.0], rows=2), "must have 2 rows"),
    ("a NaN", lambda: checks.array("x", "fit", [[1.0, np.nan], [np.inf, 0]]), "infinite, the first at (0, 1)"),
    ("an id twice", lambda: checks.ids("source", ["a", "b", "a"]), "1 occur more than once, for example a"),
    ("an empty id", lambda: checks.ids("source", ["a", ""]), "must not be empty strings"),
    ("ids of floats", lambda: checks.ids("source", [0.5, 1.5]), "must be whole numbers or strings"),
    ("a weight of zero", lambda: checks.weights("subset", [1.0, 0.0], 2), "1 are not, the first at 1"),
    ("a negative seed", lambda: seeds.stream(-1, "x"), "seed of winnow"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "fragment"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_refusals_say_what_is_allowed(call, fragment: str) -> None:
    with pytest.raises(WinnowError) as caught:
        call()
    assert fragment in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_error_is_also_the_builtin_one_expects() -> None:
    for name in errors.__all__:
        kind = getattr(errors, name)
        assert issubclass(kind, WinnowError)
        if kind is not WinnowError:
            assert any(base.__module__ == "builtins" and base is not Exception for base in kind.__mro__[1:-3])


def test_numpy_numbers_are_numbers() -> None:
    assert checks.integer("size", "x", np.int32(3)) == 3
    assert checks.fraction("keep", "x", np.float32(0.5)) == 0.5


def test_streams_are_named_and_independent() -> None:
    assert seeds.number(0, "a") == seeds.number(0, "a")
    different = {seeds.number(s, *names) for s in (0, 1) for names in [("a",), ("b",), ("a", 1), ("a", "1"), ("a1",)]}
    assert len(different) == 10


def test_an_unknown_method_gets_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown score 'el2m' \(nearest: 'el2n'\)"):
        registry.get("score", "el2m")
    with pytest.raises(UnknownNameError, match="unknown selector 'rnk'"):
        registry.get("selector", "rnk")


def test_an_unknown_parameter_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="epochh"):
        registry.get("score", "el2n").check_parameters(["epochh"])


def test_every_method_says_what_it_is() -> None:
    for method in [*registry.listing("score"), *registry.listing("selector")]:
        assert method.summary
        assert method.paper
        assert method.tasks <= {"classification", "multilabel", "regression", "unlabelled"}


def test_a_name_is_registered_once() -> None:
    def el2n(signals: object) -> None:
        """Pretends."""

    with pytest.raises(InputError, match="registered already"):
        registry.score(needs={"logits"}, paper="none")(el2n)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def work(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, enabled: bool, patience: float) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "PATIENCE", patience)
    with progress.shown(enabled), progress.task("counting", 3) as advance:
        time.sleep(0.4)  # nothing has moved yet: a bar that is due must be there all the same
        seen = stream.getvalue()
        advance(3)
    assert list(progress.track(range(3), "silent")) == [0, 1, 2]
    return seen


def test_a_bar_is_drawn_only_where_it_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "counting" in work(monkeypatch, Terminal(), enabled=True, patience=0.01)
    assert work(monkeypatch, Terminal(), enabled=True, patience=60) == ""
    assert work(monkeypatch, Terminal(), enabled=False, patience=0.01) == ""


def test_off_a_terminal_work_gets_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    def said(enabled: bool = True, lines: bool = True, patience: float = 0.0, every: float = 60.0) -> list[str]:
        stream = io.StringIO()
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(progress, "PATIENCE", patience)
        monkeypatch.setattr(progress, "EVERY", every)
        with progress.shown(enabled, lines=lines), progress.task("counting", 3) as advance:
            assert list(progress.track(range(2), "inside")) == [0, 1]
            advance(2)
            time.sleep(0.4)
        assert list(progress.track(range(3), "after")) == [0, 1, 2]
        assert stream.getvalue().replace("\n", "").isprintable()
        return stream.getvalue().splitlines()

    assert said() == ["winnow: counting (0 of 3)"]
    assert said(enabled=False) == said(lines=False) == []
    assert said(patience=60) == []  # short work is not announced
    assert said(patience=0.2) == ["winnow: counting (2 of 3)"]
    first, *more = said(every=0.15)
    assert first == "winnow: counting (0 of 3)"
    assert len(more) == 2
    assert all(line.startswith("winnow: counting (2 of 3, after ") for line in more)


def test_a_long_list_of_known_names_is_cut() -> None:
    names = [f"pixel{number:02d}" for number in range(64)]
    said = str(UnknownNameError.of("column", "pixle03", names))
    assert "(nearest: 'pixel03')" in said
    assert said.endswith("pixel19, and 44 more.")
    assert str(UnknownNameError.of("column", "x", names[:3])).endswith("known: pixel00, pixel01, pixel02.")
