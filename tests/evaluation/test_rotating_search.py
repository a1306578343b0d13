"""The search within a tolerance by rotating folds."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from winnow.artefacts import Source, Subset
from winnow.artefacts.class_metrics import WORDS
from winnow.artefacts.training_result import Marks, Result
from winnow.core.errors import InputError
from winnow.core.run import Run
from winnow.engines import Local
from winnow.evaluation.fold_limit import FoldLoss, joint_levels
from winnow.evaluation.rotating_folds import FOLDS, rotating_folds
from winnow.evaluation.rotating_search import Turn, rotating_fractions, smallest_rotating
from winnow.evaluation.tolerance_result import Search
from winnow.sources.open import open as open_source
from winnow.training import Recipe

from .blobs import QUICK, blobs, line, shuffled, tiny, tiny_line
from .test_tolerance import STRONG, every

DATA = blobs(300, spread=0.3)


def turns_of(source: Source, choose: Callable[[Source], Callable[[float], Subset]] = every) -> list[Turn]:
    parts = rotating_folds(source, 0)
    assert parts is not None
    return [Turn(rest, part, choose(rest)) for rest, part in parts]


def search(source: Source = DATA, choose: Any = every, tolerance: float = 0.05, **options: Any) -> Search:
    usual: dict[str, Any] = {"model": tiny, "recipe": QUICK, "run": Run(None, {}), "engine": Local(1)}
    return smallest_rotating(tolerance, turns_of(source, choose), **{**usual, **options})


@dataclass
class Planted:
    """An engine that trains nothing: each example is right with a chance that the fraction kept decides."""

    chance: Callable[[float], float]
    rng: np.random.Generator
    seen: dict[tuple[int, int], list[Any]] = field(default_factory=dict)
    numbers: list[tuple[int, int]] = field(default_factory=list)
    fail_after: int | None = None

    def map(
        self, function: Callable[..., Any], items: Sequence[Any], *, shared: Sequence[Any] = (), needs: Any = None
    ) -> Iterator[tuple[int, Any, float]]:
        (protocols,) = shared
        for index, (fold, training) in enumerate(job.item for job in items):
            if self.fail_after is not None and len(self.numbers) >= self.fail_after:
                raise KeyboardInterrupt
            right = self.chance(len(training.subset) / len(protocols[fold].source))
            examples = (self.rng.random(len(protocols[fold].tests[0])) < right).astype(float)
            self.seen.setdefault((fold, len(training.subset)), []).append(examples)
            self.numbers.append((fold, training.seed))
            yield index, Result(1, (Marks(float(examples.mean()), 0.0, (), tuple(examples.tolist())),), 0.0), 0.0


def test_redundant_data_shrinks_to_the_smallest_fraction() -> None:
    found = search(recipe=Recipe(epochs=15, batch=32, lr=0.05), smallest=0.5)
    assert found.keep == 0.5
    assert found.subset is None  # it is chosen from everything, not from a fold
    assert (found.folds, found.validation, found.full_size) == (5, 300, 240)
    assert found.full_value is not None
    assert found.full_value > 0.98
    assert found.certificate()["holds"] is True


def test_the_claim_says_what_was_measured_and_what_is_returned() -> None:
    engine = Planted(lambda kept: 1.0, np.random.default_rng(0))
    about = search(engine=engine).certificate()
    claim = about["claim"]
    assert claim.startswith("0.05 is the smallest of")
    assert "stay within 0.05 of the accuracy of training on everything" in claim
    assert "measured on all 300 examples by 5 rotating folds of four fifths over 5 trainings" in claim
    assert claim.endswith("found in the same way from all examples, and was not measured itself.")
    assert about["folds"] == 5
    assert "looks at 5, 10 trainings (alpha spending)" in about["rule"]
    json.dumps(about, allow_nan=False)


def test_everything_is_kept_if_no_fraction_holds() -> None:
    engine = Planted(lambda kept: 0.95 if kept == 1 else 0.5, np.random.default_rng(0))
    found = search(engine=engine)
    assert (found.keep, found.winner) == (1.0, None)
    assert [look.seeds for look in found.looks] == [5]  # hopeless after the first look
    assert found.sentence.endswith("Everything is kept.")
    assert "might show" not in found.sentence
    assert found.certificate()["holds"] is False


def test_each_look_is_the_limit_of_what_was_trained_so_far() -> None:
    engine = Planted(lambda kept: 0.9, np.random.default_rng(1))
    source = blobs(1203, spread=0.3)
    found = search(source, tolerance=0.03, engine=engine)
    assert {look.seeds for look in found.looks} == {5, 10}
    levels, sizes = joint_levels(5, 10, 0.95), [len(rest) for rest, _ in rotating_folds(source, 0) or ()]
    spreads: list[dict[int, float]] = []
    for look in found.looks:
        count = look.seeds // FOLDS
        ours = [round(look.fraction * size) for size in sizes]
        gaps = []
        for fold, (size, kept) in enumerate(zip(sizes, ours, strict=True)):
            full, some = (np.array(engine.seen[fold, one][:count]) for one in (size, kept))
            gaps.append(full - some)
        losses = FoldLoss.of(gaps, binary=True)
        before = [one.get(count, one[1]) for one in spreads if one["size"] != look.size]
        paired = losses.with_spread(before)
        assert look.confidence == levels[count - 1]
        assert (look.loss, look.upper) == pytest.approx((paired.loss, paired.upper(look.confidence)))
        assert look.holds is (look.upper <= 0.03)
        if not spreads or spreads[-1]["size"] != look.size:
            spreads.append({"size": look.size})
        spreads[-1][count] = losses.spread


def test_each_training_is_measured_on_the_fold_that_it_has_not_seen() -> None:
    engine = Planted(lambda kept: 0.9, np.random.default_rng(1))
    search(blobs(1200, spread=0.3), tolerance=0.03, engine=engine)
    assert all(seed % FOLDS == fold for fold, seed in engine.numbers)
    for rest, part in rotating_folds(DATA, 0) or ():
        assert not set(rest.ids) & set(part.ids)
        assert set(rest.ids) | set(part.ids) == set(DATA.ids)


def test_the_confidence_is_that_of_the_whole_search() -> None:
    """Every subset loses just as much as is allowed, so each claim is false, at any size and any look."""
    engine = Planted(lambda kept: 0.9 if kept == 1 else 0.8, np.random.default_rng(0))
    turns = turns_of(blobs(600))
    claims, counts = [], []
    for _ in range(200):
        found = smallest_rotating(
            0.1, turns, model=tiny, recipe=QUICK, run=Run(None, {}), engine=engine, confidence=0.8
        )
        claims.append(found.winner is not None)
        counts.append(len(found.looks))
    assert np.mean(counts) > 1.3  # or there is nothing to divide
    assert 0.08 < np.mean(claims) < 0.24


def test_an_interrupted_search_goes_on_to_the_same_end(tmp_path: Path) -> None:
    whole = search(smallest=0.5).certificate()
    with Run(tmp_path / "run", {}) as run:
        with pytest.raises(KeyboardInterrupt):
            search(smallest=0.5, run=run, engine=Stopped(7))
        assert len(list((tmp_path / "run/search").rglob("seed-*.json"))) == 7
        resumed = search(smallest=0.5, run=run)
        assert search(smallest=0.5, run=run, engine=Stopped(0)).certificate() == whole  # nothing is left to train
        assert run.seconds("search/") > 0
    assert resumed.certificate() == whole


@dataclass
class Stopped:
    """The engine of this process, killed after so many trainings."""

    left: int

    def map(
        self, function: Callable[..., Any], items: Sequence[Any], *, shared: Sequence[Any] = (), needs: Any = None
    ) -> Iterator[tuple[int, Any, float]]:
        for index, item in enumerate(items):
            if self.left == 0:
                raise KeyboardInterrupt
            self.left -= 1
            yield from ((index, made, s) for _, made, s in Local(1).map(function, [item], shared=shared))


def test_the_order_of_the_source_does_not_matter() -> None:
    ours, theirs = (search(one, smallest=0.5).certificate() for one in (DATA, shuffled(DATA)))
    assert ours == theirs


def test_regression_is_searched_in_r2() -> None:
    found = search(line(200, noise=0.02), model=tiny_line, recipe=STRONG, smallest=0.5)
    assert found.metric == "r2"
    assert found.full_value is not None
    assert found.full_value > 0.99
    assert found.keep == 0.5


@pytest.mark.parametrize("metric", ["accuracy", "balanced_accuracy", "macro_f1", "auroc"])
def test_a_tolerance_is_about_the_metric(metric: str) -> None:
    """Subsets with hardly any of the rare class: accuracy does not notice, the others do."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1500, 2))
    y = (x[:, 0] + 0.7 * rng.normal(size=1500) > 2.2).astype(int)  # 1 in 28
    source = open_source((x, y))

    def choose(part: Source) -> Callable[[float], Subset]:
        common, rare = (part.ids[np.asarray(part.labels) == one] for one in (0, 1))
        return lambda keep: Subset(np.concatenate([common[: round(keep * len(part)) - 1], rare[:1]]))

    found = search(source, choose, metric=metric, model=LogisticRegression(), recipe=None, smallest=0.4)
    assert found.metric == metric
    assert WORDS[metric] in found.sentence
    if metric == "accuracy":
        assert found.keep == 0.4
    elif metric != "auroc":  # a single rare example is enough to rank by
        assert found.keep == 1.0
        assert found.looks[0].loss > 0.05


def test_an_estimator_that_cannot_take_weights_is_refused_with_weighted_subsets() -> None:
    def choose(part: Source) -> Callable[[float], Subset]:
        def weighted(keep: float) -> Subset:
            ids = every(part)(keep).ids
            return Subset(ids, np.linspace(1, 2, len(ids)))

        return weighted

    with pytest.raises(InputError, match=r"the search within a tolerance .*sample_weight"):
        search(choose=choose, model=KNeighborsClassifier(), recipe=None)


def test_the_sequence_is_coarse_where_sizes_are_large_and_fine_where_they_are_small() -> None:
    steps = rotating_fractions(0.05)
    assert steps[:3] == pytest.approx((0.8, 0.64, 0.512))
    assert np.array(steps[3:-1]) / np.array(steps[2:-2]) == pytest.approx(np.full(len(steps) - 4, 0.9))
    assert steps[-1] == 0.05
    assert rotating_fractions(0.7) == (0.8, 0.7)
    assert rotating_fractions(0.8) == (0.8,)


def test_folds_spread_classes_keep_groups_whole_and_do_not_depend_on_the_order() -> None:
    parts = rotating_folds(blobs(101), 3)
    assert parts is not None
    sizes = [len(part) for _, part in parts]
    assert (sum(sizes), max(sizes) - min(sizes)) == (101, 1)
    for rest, part in parts:
        assert len(np.unique(np.asarray(part.labels))) == 3
        assert rest.origin["hold_out"] == {
            "part": "train",
            "folds": 5,
            "seed": 3,
            "fold": part.origin["hold_out"]["fold"],
        }
    again = rotating_folds(shuffled(blobs(101)), 3)
    assert again is not None
    assert [set(part.ids) for _, part in again] == [set(part.ids) for _, part in parts]
    grouped = dataclasses.replace(blobs(120), groups=np.arange(120) // 3)
    for rest, part in rotating_folds(grouped, 0) or ():
        assert not set(np.asarray(rest.groups)) & set(np.asarray(part.groups))


@pytest.mark.parametrize(
    "source",
    [
        dataclasses.replace(blobs(120), times=np.arange(120)),
        dataclasses.replace(blobs(120), groups=np.arange(120) % 4),
        blobs(12),  # four of each class
        line(8),
        blobs(60).with_labels(None, "unlabelled", ()),
    ],
    ids=["times", "few groups", "few of a class", "few", "no labels"],
)
def test_a_source_that_cannot_rotate_does_not(source: Source) -> None:
    assert rotating_folds(source, 0) is None
