from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from winnow.artefacts import Source, Subset
from winnow.artefacts.training_result import Marks, Result
from winnow.core.run import Run
from winnow.engines import Local
from winnow.evaluation.loss_curve import LossCurve, fit
from winnow.evaluation.tolerance import Probe, Search, next_fraction, smallest_within, upper_limit
from winnow.training import Recipe

from .blobs import QUICK, blobs, line, shuffled, tiny, tiny_line
from .test_evaluate import Watched

EASY, VALIDATION = blobs(600, spread=0.3), blobs(300, spread=0.3, seed=1, prefix="v")
STRONG = Recipe(epochs=40, batch=32, lr=0.05)


def every(source: Source) -> Callable[[float], Subset]:
    """Evenly spaced examples: all classes stay."""
    ids = np.sort(source.ids)
    return lambda keep: Subset(ids[np.linspace(0, len(ids) - 1, round(keep * len(ids))).astype(int)])


def without_a_class_below(limit: float, source: Source = EASY) -> Callable[[float], Subset]:
    """A choice that is as good as everything down to a fraction, and forgets a class below it."""
    assert source.labels is not None
    order = source.order
    first = order[source.labels[order] != 2]

    def choose(keep: float) -> Subset:
        size = round(keep * len(source))
        where = order if size >= limit * len(source) else first
        return Subset(source.ids[where[:size]])

    return choose


def search(
    choose: Callable[[float], Subset],
    source: Source = EASY,
    validation: Source = VALIDATION,
    tolerance: float = 0.02,
    **options: Any,
) -> Search:
    usual: dict[str, Any] = {"model": tiny, "recipe": QUICK, "seeds": 3, "run": Run(None, {}), "engine": Local(1)}
    return smallest_within(tolerance, choose, source, validation, **{**usual, **options})


def test_redundant_data_shrinks_to_the_smallest_fraction_tried() -> None:
    found = search(every(EASY), recipe=STRONG, smallest=0.1)
    assert found.subset is not None
    assert found.keep == pytest.approx(0.1, abs=0.01)
    assert len(found.subset) == round(found.keep * 600)
    assert found.full_value > 0.98
    assert found.certificate()["holds"] is True
    assert found.sentence.startswith("0.1 is the smallest of")


def test_a_planted_boundary_is_bracketed() -> None:
    """Half the examples of the others, and as many epochs as a third of them needs to be learnt by."""
    source = blobs(300, spread=0.3)
    strong = Recipe(epochs=25, batch=32, lr=0.05)
    found = search(without_a_class_below(0.3, source), source, recipe=strong, probes=6)
    holding = [probe.fraction for probe in found.probes if probe.holds]
    failing = [probe.fraction for probe in found.probes if not probe.holds]
    assert found.keep == min(holding)
    assert max(failing) < 0.3 <= found.keep < 0.42
    assert all(probe.loss > 0.2 for probe in found.probes if not probe.holds)


def test_where_nothing_holds_everything_is_kept_and_it_is_said() -> None:
    found = search(without_a_class_below(1.0))
    assert found.subset is None
    assert found.keep == 1.0
    assert found.probes
    assert not any(probe.holds for probe in found.probes)
    assert "Everything is kept" in found.sentence
    assert found.certificate()["holds"] is False


def test_noise_is_not_taken_for_proof() -> None:
    """Labels are coin tosses: subsets are as good as everything, but few examples cannot show it."""
    rng = np.random.default_rng(0)
    source, validation = (
        s.with_labels(rng.integers(0, 3, len(s)), "classification", s.classes)
        for s in (blobs(200), blobs(40, seed=1, prefix="v"))
    )
    found = search(every(source), source, validation, tolerance=0.005, probes=3)
    assert found.subset is None
    assert all(probe.upper > 0.005 for probe in found.probes)


def test_regression_is_searched_in_r2() -> None:
    source, validation = line(300, noise=0.02), line(200, noise=0.02, seed=1, prefix="v")
    found = search(every(source), source, validation, tolerance=0.05, model=tiny_line, recipe=STRONG, smallest=0.2)
    assert found.metric == "r2"
    assert found.full_value > 0.99
    assert found.keep < 0.5


def test_the_certificate_is_plain_and_repeatable() -> None:
    ours = search(every(EASY), probes=3).certificate()
    theirs = search(every(shuffled(EASY)), shuffled(EASY), shuffled(VALIDATION), probes=3).certificate()
    text = json.dumps(ours, allow_nan=False)
    assert ours == theirs
    assert "second" not in text
    assert "Bonferroni" in text
    assert len(ours["measured"]) <= 3
    assert ours["validation_examples"] == 300


def test_an_interrupted_search_goes_on_to_the_same_end(tmp_path: Path) -> None:
    choose = without_a_class_below(0.3)
    whole = search(choose, probes=3)
    trained = Watched()
    with Run(tmp_path / "run", {}) as run:
        with pytest.raises(KeyboardInterrupt):
            search(choose, probes=3, run=run, engine=Watched(fail_after=2))
        resumed = search(choose, probes=3, run=run, engine=trained)
        again = Watched()
        assert search(choose, probes=3, run=run, engine=again).certificate() == whole.certificate()
        assert run.seconds("search/") > 0
    assert resumed.certificate() == whole.certificate()
    assert len(trained.trained) == 3 * (1 + len(whole.probes)) - 2
    assert again.trained == []


@dataclass(frozen=True)
class Planted:
    """An engine that trains nothing: each validation example is right with a chance that the fraction kept decides."""

    chance: Callable[[float], float]
    rng: np.random.Generator

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any, float]]:
        for index, (protocol, training) in enumerate(items):
            right = self.chance(len(training.subset) / len(protocol.source))
            examples = (self.rng.random(len(protocol.tests[0])) < right).astype(float)
            yield index, Result(1, 0.0, (Marks(float(examples.mean()), 0.0, (), tuple(examples.tolist())),)), 0.0


def test_the_confidence_is_that_of_the_whole_search() -> None:
    """Every subset loses just as much as is allowed, so each claim is false; several looks must not add up to many."""
    rng = np.random.default_rng(0)
    engine = Planted(lambda kept: 0.9 if kept == 1 else 0.8, rng)
    claims, looks = [], []
    for _ in range(150):
        found = search(every(EASY), tolerance=0.1, confidence=0.8, probes=6, engine=engine)
        claims.append(found.subset is not None)
        looks.append(len(found.probes))
    assert np.mean(looks) > 3  # or there is nothing to correct for
    assert np.mean(claims) < 0.1  # 0.2 were allowed, less is used: the limit errs on the safe side


@pytest.mark.parametrize("probes", [1, 4])
def test_each_limit_has_its_part_of_what_may_be_wrong(probes: int) -> None:
    seen: dict[int, list[Any]] = {}

    class Kept(Planted):
        def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any, float]]:
            for index, made, seconds in super().map(function, items):
                seen.setdefault(len(items[index][1].subset), []).append(made.marks[0].examples)
                yield index, made, seconds

    engine = Kept(lambda kept: 0.9, np.random.default_rng(1))
    found = search(every(EASY), tolerance=0.03, confidence=0.9, probes=probes, engine=engine)
    assert found.looks == probes
    assert found.full_value == pytest.approx(np.mean(seen[600]))
    for probe in found.probes:
        lost = np.array(seen[600]) - np.array(seen[probe.size])
        wanted = upper_limit(lost, 1 - 0.1 / probes, binary=True)
        assert (probe.loss, probe.upper) == pytest.approx(wanted)
        assert probe.value == pytest.approx(np.mean(seen[probe.size]))
        assert probe.holds is (probe.upper <= 0.03)


def test_the_limit_is_the_documented_formula() -> None:
    d = np.random.default_rng(0).normal(0.1, 1, (4, 50))
    centre, upper = upper_limit(d, 0.9, binary=False)
    seeds = stats.t.ppf(0.9, 3) * stats.sem(d.mean(1))
    examples = stats.norm.ppf(0.9) * stats.sem(d.mean(0))
    assert centre == pytest.approx(d.mean())
    assert upper == pytest.approx(d.mean() + np.sqrt(seeds**2 + examples**2))


@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_the_limit_covers_the_truth_as_often_as_it_says(confidence: float) -> None:
    """Seeds, examples and their noise all vary; the true loss is 0.02."""
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(600):
        chance = 0.02 + 0.01 * rng.standard_normal((5, 1)) + 0.1 * rng.standard_normal((1, 200))
        covered.append(upper_limit(chance + 0.2 * rng.standard_normal((5, 200)), confidence, binary=False)[1] >= 0.02)
    assert np.mean(covered) >= confidence - 0.02


def test_full_agreement_on_few_examples_is_not_certainty() -> None:
    assert upper_limit(np.zeros((5, 50)), 0.95, binary=True)[1] > 0.03
    assert upper_limit(np.zeros((5, 10_000)), 0.95, binary=True)[1] < 0.001


@pytest.mark.parametrize(("a", "b"), [(0.01, 1.0), (0.002, 2.0), (0.05, 0.3)])
def test_the_fit_finds_a_planted_curve(a: float, b: float) -> None:
    fractions = [0.1, 0.3, 0.5, 0.8]
    truth = LossCurve(a, b)
    found = fit(fractions, [truth.loss(f) for f in fractions])
    assert found.loss(0.2) == pytest.approx(truth.loss(0.2), rel=0.05)
    assert truth.fraction(truth.loss(0.37)) == pytest.approx(0.37)


def test_the_fit_of_a_gain_is_flat() -> None:
    curve = fit([0.5, 0.2], [-0.01, -0.02])
    assert curve.a == 0
    assert curve.fraction(0.01) == 0.0
    assert curve.fraction(-0.01) == 1.0


def probe(fraction: float, loss: float, tolerance: float = 0.01, margin: float = 0.002) -> Probe:
    return Probe(fraction, round(1000 * fraction), 0.9 - loss, loss, loss + margin, loss + margin <= tolerance)


@pytest.mark.parametrize("boundary", [0.06, 0.13, 0.3, 0.55, 0.8, 0.97])
def test_the_search_homes_in_on_a_smooth_boundary(boundary: float) -> None:
    """The true loss is a power law that reaches tolerance less margin at the boundary."""
    truth = LossCurve(0.008 / (boundary**-1.5 - 1), 1.5)
    found: list[Probe] = []
    for _ in range(6):
        fraction = next_fraction(found, 0.01, 0.05)
        if fraction is None:
            break
        low = max((p.fraction for p in found if not p.holds), default=0.0499)
        high = min((p.fraction for p in found if p.holds), default=1.0)
        assert low < fraction < high
        found.append(probe(fraction, truth.loss(fraction)))
    best = min((p.fraction for p in found if p.holds), default=1.0)
    assert boundary <= best <= 1.2 * boundary


def test_the_search_ends_when_its_bracket_is_close() -> None:
    assert next_fraction([], 0.01, 0.05) == 0.5
    assert next_fraction([], 0.01, 0.64) == pytest.approx(0.8)
    assert next_fraction([probe(0.5, 0.0), probe(0.45, 0.5)], 0.01, 0.05) is None
    assert next_fraction([probe(0.05, 0.0)], 0.01, 0.05) is None
    assert next_fraction([probe(0.9, 0.5)], 0.01, 0.05) is None
