from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from winnow.artefacts import Source, Subset
from winnow.artefacts.class_metrics import WORDS
from winnow.artefacts.training_result import Marks, Result
from winnow.core.errors import InputError
from winnow.core.run import Run
from winnow.engines import Local
from winnow.evaluation.loss_limit import PairedLoss
from winnow.evaluation.tolerance import Search, fractions, levels, looks, smallest_within
from winnow.sources.open import open as open_source
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
    usual: dict[str, Any] = {
        "model": tiny,
        "recipe": QUICK,
        "seeds": 3,
        "most": 5,
        "run": Run(None, {}),
        "engine": Local(1),
    }
    return smallest_within(tolerance, choose, source, validation, **{**usual, **options})


def test_redundant_data_shrinks_to_the_smallest_fraction_tried() -> None:
    found = search(every(EASY), tolerance=0.05, recipe=STRONG, largest=0.15, smallest=0.1)
    assert found.subset is not None
    assert found.keep == pytest.approx(0.1, abs=0.01)
    assert len(found.subset) == round(found.keep * 600)
    assert found.full_value is not None
    assert found.full_value > 0.98
    assert found.certificate()["holds"] is True
    assert found.sentence.startswith("0.1 is the smallest of")


def test_the_search_ends_at_the_first_size_that_does_not_hold() -> None:
    source = blobs(300, spread=0.3)
    strong = Recipe(epochs=25, batch=32, lr=0.05)
    found = search(without_a_class_below(0.3, source), source, tolerance=0.05, recipe=strong, largest=0.6)
    sizes = list(dict.fromkeys(look.size for look in found.looks))
    assert sizes == [round(fraction * 300) for fraction in found.sequence[: len(sizes)]]
    assert [look.holds for look in found.looks if look.size == sizes[-1]][-1] is False
    assert found.looks[-1].loss > 0.2
    assert found.looks[-1].seeds == 3  # hopeless after the first look: no seeds are added
    assert 0.3 <= found.keep < 0.3 / 0.8
    assert found.winner is not None
    assert found.winner.size == sizes[-2]


def test_where_nothing_holds_everything_is_kept_and_it_is_said() -> None:
    found = search(without_a_class_below(1.0))
    assert found.subset is None
    assert found.winner is None
    assert found.keep == 1.0
    assert {look.size for look in found.looks} == {400}  # 480 asked for, of which a class is missing
    assert not any(look.holds for look in found.looks)
    assert found.sentence.endswith("Everything is kept.")
    assert "might show" not in found.sentence
    assert found.certificate()["holds"] is False


def test_noise_is_not_taken_for_proof() -> None:
    """Labels are coin tosses: subsets are as good as everything, but few examples cannot show it."""
    rng = np.random.default_rng(0)
    source, validation = (
        s.with_labels(rng.integers(0, 3, len(s)), "classification", s.classes)
        for s in (blobs(200), blobs(40, seed=1, prefix="v"))
    )
    found = search(every(source), source, validation, tolerance=0.005)
    assert found.subset is None
    assert all(look.upper > 0.005 for look in found.looks)


def test_a_source_too_small_to_halve_is_kept() -> None:
    source = blobs(6)
    found = search(lambda keep: Subset(source.ids), source)
    assert (found.keep, found.looks, found.full_value) == (1.0, (), None)
    assert found.sentence.endswith("All is kept.")


def test_regression_is_searched_in_r2() -> None:
    source, validation = line(300, noise=0.02), line(200, noise=0.02, seed=1, prefix="v")
    found = search(
        every(source), source, validation, tolerance=0.05, model=tiny_line, recipe=STRONG, largest=0.5, smallest=0.4
    )
    assert found.metric == "r2"
    assert found.full_value is not None
    assert found.full_value > 0.99
    assert found.keep == pytest.approx(0.4)


def test_an_estimator_whose_seed_changes_nothing_is_resampled() -> None:
    found = search(every(EASY), model=LogisticRegression(), recipe=None, smallest=0.2)
    assert found.seeds == (3, 5)
    assert found.keep == pytest.approx(0.2, abs=0.01)


@pytest.mark.parametrize("metric", ["accuracy", "balanced_accuracy", "macro_f1", "auroc"])
def test_a_tolerance_is_about_the_metric(metric: str) -> None:
    """Subsets with hardly any of the rare class: accuracy does not notice, the others do."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1500, 2))
    y = (x[:, 0] + 0.7 * rng.normal(size=1500) > 2.2).astype(int)  # 1 in 28
    source, validation = (open_source((x[part], y[part])) for part in (slice(600), slice(600, None)))
    assert source.labels is not None
    common, rare = source.ids[source.labels == 0], source.ids[source.labels == 1]

    def choose(fraction: float) -> Subset:
        return Subset(np.concatenate([common[: round(fraction * 600) - 1], rare[:1]]))

    how: dict[str, Any] = {"model": LogisticRegression(), "recipe": None, "smallest": 0.4}
    found = search(choose, source, validation, tolerance=0.05, metric=metric, **how)
    assert found.metric == metric
    assert WORDS[metric] in found.sentence
    if metric == "accuracy":
        assert found.keep == pytest.approx(0.4, abs=0.01)
    elif metric != "auroc":  # a single rare example is enough to rank by
        assert found.keep == 1.0
        assert found.looks[0].loss > 0.05


def test_an_estimator_with_luck_gets_more_seeds() -> None:
    found = search(every(EASY), model=RandomForestClassifier(2), recipe=None, largest=0.3, smallest=0.3)
    assert found.seeds == (3, 5)


@pytest.mark.parametrize(
    ("model", "words"),
    [(LinearRegression(), "must be an estimator for classification"), (KNeighborsClassifier(), "sample_weight")],
)
def test_an_estimator_that_does_not_fit_is_refused(model: Any, words: str) -> None:
    def weighted(keep: float) -> Subset:
        ids = every(EASY)(keep).ids
        return Subset(ids, np.linspace(1, 2, len(ids)))

    with pytest.raises(InputError, match=f"the search within a tolerance .*{words}"):
        search(weighted, model=model, recipe=None)


def test_the_certificate_is_plain_and_repeatable() -> None:
    ours = search(every(EASY), reference="what is left").certificate()
    theirs = search(every(shuffled(EASY)), shuffled(EASY), shuffled(VALIDATION), reference="what is left").certificate()
    text = json.dumps(ours, allow_nan=False)
    assert ours == theirs
    assert "second" not in text
    assert "looks at 3, 5 seeds (alpha spending)" in text
    assert "accuracy of what is left" in ours["claim"]
    assert ours["reference"] == "what is left"
    assert ours["validation_examples"] == 300
    assert ours["sequence"][0] == 0.8


def test_an_interrupted_search_goes_on_to_the_same_end(tmp_path: Path) -> None:
    choose = without_a_class_below(0.7)
    whole = search(choose)
    trained = Watched()
    with Run(tmp_path / "run", {}) as run:
        with pytest.raises(KeyboardInterrupt):
            search(choose, run=run, engine=Watched(fail_after=2))
        resumed = search(choose, run=run, engine=trained)
        again = Watched()
        assert search(choose, run=run, engine=again).certificate() == whole.certificate()
        assert run.seconds("search/") > 0
    assert resumed.certificate() == whole.certificate()
    most = {look.size: look.seeds for look in whole.looks}
    assert len(trained.trained) == max(most.values()) + sum(most.values()) - 2
    assert again.trained == []


@dataclass
class Planted:
    """An engine that trains nothing: each validation example is right with a chance that the fraction kept decides."""

    chance: Callable[[float], float]
    rng: np.random.Generator
    seen: dict[int, list[Any]] = field(default_factory=dict)

    def map(
        self, function: Callable[..., Any], items: Sequence[Any], *, shared: Sequence[Any] = (), needs: Any = None
    ) -> Iterator[tuple[int, Any, float]]:
        (protocol,) = shared
        for index, training in enumerate(job.item for job in items):
            right = self.chance(len(training.subset) / len(protocol.source))
            examples = (self.rng.random(len(protocol.tests[0])) < right).astype(float)
            self.seen.setdefault(len(training.subset), []).append(examples)
            yield index, Result(1, (Marks(float(examples.mean()), 0.0, (), tuple(examples.tolist())),), 0.0), 0.0


def test_the_confidence_is_that_of_the_whole_search() -> None:
    """Every subset loses just as much as is allowed, so each claim is false, at any size and any look."""
    engine = Planted(lambda kept: 0.9 if kept == 1 else 0.8, np.random.default_rng(0))
    claims, counts = [], []
    for _ in range(300):
        found = search(every(EASY), tolerance=0.1, confidence=0.8, engine=engine)
        claims.append(found.subset is not None)
        counts.append(len(found.looks))
    assert np.mean(counts) > 1.5  # or there is nothing to divide
    assert 0.05 < np.mean(claims) < 0.2


def test_each_look_is_the_limit_of_what_was_trained_so_far() -> None:
    engine = Planted(lambda kept: 0.9, np.random.default_rng(1))
    found = search(every(EASY), tolerance=0.025, confidence=0.9, engine=engine)
    full = np.array(engine.seen[600])
    assert found.full_value == pytest.approx(full.mean())
    assert len({look.seeds for look in found.looks}) > 1  # seeds were added where it was close
    for look in found.looks:
        ours = np.array(engine.seen[look.size])[: look.seeds]
        paired = PairedLoss.of(full[: look.seeds] - ours, binary=True)
        assert look.confidence == levels((3, 5), 0.9)[(3, 5).index(look.seeds)]
        assert (look.loss, look.upper) == pytest.approx((paired.loss, paired.upper(look.confidence)))
        assert look.value == pytest.approx(ours.mean())
        assert look.holds is (look.upper <= 0.025)


def test_a_clear_case_takes_the_first_look_and_no_more() -> None:
    engine = Planted(lambda kept: 1.0, np.random.default_rng(0))
    found = search(every(EASY), tolerance=0.05, engine=engine)
    assert {look.seeds for look in found.looks} == {3}
    assert found.keep == 0.05


def test_what_more_examples_might_show_is_said() -> None:
    engine = Planted(lambda kept: 0.9, np.random.default_rng(0))
    said = search(every(EASY), tolerance=0.02, engine=engine).sentence
    assert "validation examples might show that it holds" in said


def test_the_levels_add_up_to_what_may_be_wrong() -> None:
    allowed = [1 - level for level in levels((4, 6, 10), 0.95)]
    assert sum(allowed) == pytest.approx(0.05)
    assert allowed == pytest.approx([0.05 * 0.16, 0.05 * 0.2, 0.05 * 0.64])
    assert levels((5,), 0.9) == [pytest.approx(0.9)]


def test_the_sequence_is_geometric_and_ends_at_the_smallest() -> None:
    steps = fractions(0.8, 0.05)
    assert steps[0] == 0.8
    assert steps[-1] == 0.05
    ratios = np.array(steps[1:-1]) / np.array(steps[:-2])
    assert ratios == pytest.approx(np.full(ratios.size, ratios[0]))
    assert fractions(0.3, 0.3) == (0.3,)


def test_the_looks_are_the_first_and_the_last_number_of_seeds() -> None:
    assert looks(4, 16) == (4, 16)
    assert looks(5, 5) == (5,)
