"""One suite over every registered selector; a newcomer inherits it by being registered."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from winnow.artefacts import Signals, Subset
from winnow.core import registry
from winnow.core.errors import NotDefinedError
from winnow.scores.score import score
from winnow.selectors.method_string import needs_of, parse_method
from winnow.selectors.select import list_selectors, select

from .planted import as_task, planted, shuffled

SELECTORS = {method.name: method for method in list_selectors()}
EVERY = pytest.mark.parametrize("name", sorted(SELECTORS))
COUNTS = (60, 30, 8, 3)

DRAWS = {
    "random",
    "strata",
    "beta",
    "lpntk_head",
    "lpntk_head_only",
    "influence",
    "influence_bound",
}  # must change with the seed
# must not, where no two examples tie
SEEDLESS = {"rank", "graph", "kcenter", "herding", "moderate", "lpntk_redundancy", "moments"}


@pytest.fixture(scope="module")
def signals() -> Signals:
    return planted(counts=COUNTS, seeds=2, epochs=12, seed=2).signals


def run(name: str, signals: Signals, **options) -> Subset:
    """Any selector on any task: with a score that the task has where one is needed."""
    if "scores" in SELECTORS[name].needs and signals.task != "classification":
        options["score"] = "prototype"
    return select(name, signals, **options)


def kept_counts(subset: Subset, signals: Signals) -> list[int]:
    return np.bincount(signals.take(subset.ids).labels, minlength=len(signals.classes)).tolist()


@EVERY
@pytest.mark.parametrize("size", [1, 2, 7, 50, 100, 101])
def test_exact_size_unique_ids_valid_weights(name, size, signals):
    out = run(name, signals, size=size)
    assert len(out) == size
    assert np.unique(out.ids).size == size
    assert np.isin(out.ids, signals.ids).all()
    assert np.isfinite(out.weights).all()
    assert (out.weights > 0).all()
    assert out.certificate["size"] == size
    assert out.certificate["fraction"] == size / len(signals)


@EVERY
@pytest.mark.parametrize("keep", [0.01, 0.1, 0.5, 0.77])
def test_keep_is_a_fraction(name, keep, signals):
    assert len(run(name, signals, keep=keep)) == max(1, round(keep * len(signals)))


@EVERY
@pytest.mark.parametrize("balance", [None, 0.5, 1.0])
def test_keeping_all_keeps_all(name, balance, signals):
    out = run(name, signals, keep=1.0, balance=balance)
    assert out.ids.tolist() == sorted(signals.ids.tolist())


@EVERY
@pytest.mark.parametrize("size", [4, 21, 60])
@pytest.mark.parametrize("balance", [0.0, 0.5, 1.0])
def test_quotas_are_kept_exactly(name, balance, size, signals):
    out = run(name, signals, size=size, balance=balance)
    counts = kept_counts(out, signals)
    assert sum(counts) == len(out) == size
    for count, available in zip(counts, COUNTS, strict=True):
        assert count >= min(available, balance * size / len(COUNTS))
    if balance == 1.0:  # as equal as the data allow: only classes used up hold fewer than others less one
        roomy = [count for count, available in zip(counts, COUNTS, strict=True) if count < available]
        assert max(counts) - min(roomy) <= 1
    assert out.certificate["class_counts"] == dict(zip(signals.classes, counts, strict=True))


@EVERY
def test_no_balance_and_balance_zero_are_the_same(name, signals):
    assert np.array_equal(run(name, signals, size=30).ids, run(name, signals, size=30, balance=0).ids)


@EVERY
@pytest.mark.parametrize("balance", [None, 0.7])
def test_same_seed_same_bytes(name, balance, signals, tmp_path):
    paths = [run(name, signals, size=33, balance=balance, seed=4).save(tmp_path / f"{i}.parquet") for i in (0, 1)]
    assert paths[0].read_bytes() == paths[1].read_bytes()


@EVERY
@pytest.mark.parametrize("balance", [None, 0.7])
def test_order_of_the_examples_plays_no_part(name, balance, signals, tmp_path):
    paths = [
        run(name, given, size=33, balance=balance).save(tmp_path / f"{i}.parquet")
        for i, given in enumerate((signals, shuffled(signals)))
    ]
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize("name", sorted(DRAWS | SEEDLESS))
def test_seed_changes_only_what_is_drawn(name, signals):
    first, second = (run(name, signals, size=20, seed=seed).ids.tolist() for seed in (0, 1))
    assert (first != second) == (name in DRAWS)


@EVERY
@pytest.mark.parametrize("task", ["regression", "unlabelled"])
@pytest.mark.parametrize("balance", [None, 0.5])
def test_other_tasks_work_or_are_refused_with_a_reason(name, task, balance, signals):
    given = as_task(signals, task)
    if task not in SELECTORS[name].tasks:
        with pytest.raises(NotDefinedError, match=f"selector '{name}' is defined for classification, not for {task}"):
            run(name, given, size=20, balance=balance)
        return
    out = run(name, given, size=20, balance=balance)
    assert len(out) == 20
    assert out.certificate["class_counts"] is None
    if balance:
        floors, counts = out.certificate["floors"], out.certificate["cluster_counts"]
        assert sum(counts.values()) == 20
        assert all(counts[group] >= floors[group] for group in floors)
        assert out.certificate["groups"] == "clusters"


@EVERY
def test_scores_with_signals_are_signals(name, signals):
    """Handing in Scores and the signals beside them gives what the signals alone give."""
    usual = SELECTORS[name].default_score or "aum"
    from_scores = select(name, score(usual, signals), size=25, signals=shuffled(signals))
    assert np.array_equal(from_scores.ids, select(name, signals, size=25).ids)


@EVERY
def test_missing_arrays_are_named(name, signals):
    usual = SELECTORS[name].default_score or "aum"
    for needed in SELECTORS[name].needs - {"scores"}:
        with pytest.raises(NotDefinedError, match=f"selector '{name}' needs {needed}"):
            select(name, score(usual, signals), size=5)
        lacking = replace(signals, arrays={"losses": signals.losses})
        with pytest.raises(NotDefinedError, match=f"selector '{name}' needs {needed}"):
            select(name, score(usual, signals), size=5, signals=lacking)


@EVERY
def test_copies_of_one_example(name):
    """Equal embeddings, logits and scores leave nothing to choose by; the size is kept all the same."""
    made = planted(n=24, seeds=1, epochs=10).signals
    arrays = {key: np.zeros_like(values) for key, values in made.arrays.items()}
    assert len(run(name, replace(made, arrays=arrays), size=9, balance=0.5)) == 9


@EVERY
def test_certificate_and_provenance(name, signals, tmp_path):
    out = run(name, signals, size=30, balance=0.5, seed=3)
    uses = "scores" in SELECTORS[name].needs
    assert out.certificate["score"] == (SELECTORS[name].default_score if uses else None)
    assert (out.certificate["reliability"] is not None) == uses
    assert 0 <= out.certificate["class_balance"] <= 1
    assert out.provenance["step"] == "select"
    assert {"name": name, "size": 30, "balance": 0.5, "seed": 3}.items() <= out.provenance["parameters"].items()
    assert out.provenance["inputs"]["signals"]["fingerprint"] == signals.fingerprint
    back = Subset.load(out.save(tmp_path / "subset.parquet"))
    assert back.certificate == dict(out.certificate)
    assert back.fingerprint == out.fingerprint


@EVERY
def test_method_name_runs_on_what_it_says_it_needs(name, signals):
    plan = parse_method(name)
    arrays = {key: signals.arrays[key] for key in needs_of(name)} or {"losses": signals.losses}
    out = select(plan.selector, replace(signals, arrays=arrays), size=10, score=plan.score, **plan.parameters)
    assert len(out) == 10


@EVERY
def test_is_documented(name):
    method = SELECTORS[name]
    assert method.paper
    assert method.summary.endswith(".")
    assert "seed" in method.parameters
    assert ("scores" in method.needs) == (method.default_score is not None)
    assert method.function.__module__ == f"winnow.selectors.{name}"
    assert registry.get("selector", name) is method
