"""What comparing by lpNTK is expected to take: the law of its growth, the slices it is measured on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import winnow as wn
from tests.planning.test_resources import TINY, image, part, quick
from winnow.core.request import requested
from winnow.engines import Local
from winnow.planning import comparison_cost as comparing
from winnow.planning.resources import BLOCKS
from winnow.planning.workload import counts_of
from winnow.pruning.rehearsal import made_up
from winnow.pruning.resolved_request import request_of


def law(_request: Any, _counts: Any, classes: int, each: int) -> float:
    """Seconds that grow as redundancy's do, known exactly."""
    return classes * (2e-5 * each + 3e-9 * each**2)


@pytest.mark.parametrize("n", [80, 600, 2 * comparing.CLASS, 9000])
@pytest.mark.parametrize("method", ["lpntk_redundancy", "lpntk_head", "contradiction", "interchangeability"])
def test_slices_of_a_known_law_give_the_whole(method: str, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(comparing, "_seconds", lambda *given: asked.append(given[2:]) or law(*given))
    found = quick(image(n), method)
    assert found.seconds_select == pytest.approx(law(None, None, 2, n // 2), rel=1e-6)
    assert max(classes * each for classes, each in asked) <= comparing.ROWS


def test_classes_of_different_size_count_by_their_squares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "_seconds", law)
    plain = image(8000)
    uneven = plain.with_labels((np.arange(8000) >= 6000).astype(np.int64), "classification", plain.classes)
    expected = law(None, None, 1, 6000) + law(None, None, 1, 2000)
    assert quick(uneven, "lpntk_head").seconds_select == pytest.approx(expected, rel=1e-6)


def asked(source: wn.Source, method: str, **parameters: Any) -> float:
    """Seconds by the estimate's own steps, with parameters of the selector."""
    request = request_of(
        requested(wn.prune, source, 0.5, method=method, model="mlp", recipe=TINY, seeds=2, **parameters)
    )
    counts = counts_of(source, request, None, len(source) // 2, Local(workers=1))
    return comparing.comparing(source, request, counts)


@pytest.mark.parametrize("n", [600, 9000])
@pytest.mark.parametrize("method", ["lpntk_redundancy", "lpntk_head"])
def test_the_papers_rule_grows_with_the_square_of_all(method: str, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    given = []

    def whole(_request: Any, _counts: Any, classes: int, each: int) -> float:
        given.append(classes * each)
        return law(None, None, 1, classes * each)

    source = image(n).with_labels(np.arange(n) % 10, "classification", tuple("abcdefghij"))
    monkeypatch.setattr(comparing, "_seconds", whole)
    assert asked(source, method, rule="paper") == pytest.approx(law(None, None, 1, n), rel=1e-6)
    assert max(given) <= comparing.ROWS
    monkeypatch.setattr(comparing, "_seconds", law)
    assert asked(source, method, rule="cover") == pytest.approx(law(None, None, 10, n // 10), rel=1e-6)


def test_the_slice_is_chosen_from_by_the_rule_that_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = []
    real = comparing.select
    monkeypatch.setattr(comparing, "select", lambda *a, **k: rules.append(k.get("rule")) or real(*a, **k))
    assert asked(image(60), "lpntk_redundancy", rule="paper") > 0
    assert set(rules) == {"paper"}


def test_other_methods_compare_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "_seconds", lambda *given: pytest.fail("nothing should be compared"))
    assert quick(image(200), "el2n").seconds_select == 0


@pytest.mark.parametrize("method", ["lpntk_head_only", "contradiction"])
def test_a_slice_is_really_chosen_from(method: str) -> None:
    assert quick(image(60), method).seconds_select > 0


def test_made_up_features_share_the_direction_of_their_class() -> None:
    sizes = {"seeds": 2, "models": 0, "epochs": 1, "examples": 60, "classes": 3, "embedding": 4, "projection": 512}
    signals = made_up("classification", sizes, "test", {"lpntk"})
    rows = signals.array("lpntk")[0].astype(np.float64)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    same = np.equal.outer(signals.labels, signals.labels)
    cosines = unit @ unit.T
    assert cosines[same].mean() > 0.3
    assert abs(cosines[~same].mean()) < 0.05


def test_memory_counts_the_copies_of_the_features() -> None:
    few, many = (part(quick(image(n), "lpntk_redundancy"), "memory: scoring and selecting") for n in (1000, 3000))
    features = 4 * 512 * 2  # bytes of an example, two seeds
    assert (many - few) / 2000 == pytest.approx(6 * features, rel=0.05)
    assert few > BLOCKS


def test_the_plan_of_a_real_source_says_it_too() -> None:
    source = wn.open("digits", limit=100)
    assert "to select" in quick(source, "lpntk_head_only").sentences()[0]
