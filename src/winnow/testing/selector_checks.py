"""What every selector promises: the exact size, exact quotas, no dependence on order, a certificate."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from ..artefacts import Signals, Subset
from ..artefacts.task_labels import Task
from ..core import registry
from ..core.errors import NotDefinedError
from ..scores.score import score
from ..selectors.method_string import needs_of, parse_method
from ..selectors.select import select
from .expect import refused
from .planted import as_task, planted, shuffled

__all__ = ["checks_of_selector", "selected"]

TASKS: tuple[Task, ...] = ("classification", "multilabel", "regression", "unlabelled")
COUNTS = (60, 30, 8, 3)  # class sizes for the checks of quotas


@cache
def _made() -> Signals:
    return planted(counts=COUNTS, seeds=2, epochs=12, seed=2).signals


@cache
def _alike() -> Signals:
    made = planted(n=40, seeds=1, epochs=12, seed=2).signals
    return replace(made, arrays={key: np.zeros_like(values) for key, values in made.arrays.items()})


def selected(name: str, signals: Signals | None = None, **options: Any) -> Subset:
    """Run a selector, on planted signals if none are given; if needed, with a score that the task has."""
    given = _made() if signals is None else signals
    if "scores" in registry.get("selector", name).needs and given.task != "classification":
        options["score"] = "prototype"
    return select(name, given, **options)


def _bytes(subset: Subset) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "subset.parquet")
        subset.save(path)
        return path.read_bytes()


def _exact_size_unique_ids_valid_weights(name: str) -> None:
    for size in (1, 2, 7, 50, 100, 101):
        out = selected(name, size=size)
        assert len(out) == np.unique(out.ids).size == size
        assert np.isin(out.ids, _made().ids).all()
        assert np.isfinite(out.weights).all()
        assert (out.weights > 0).all()
        assert (out.certificate["size"], out.certificate["fraction"]) == (size, size / len(_made()))


def _keep_is_a_fraction(name: str) -> None:
    for keep in (0.01, 0.1, 0.5, 0.77):
        assert len(selected(name, keep=keep)) == max(1, round(keep * len(_made())))


def _keeping_all_keeps_all(name: str) -> None:
    for balance in (None, 0.5, 1.0):
        assert selected(name, keep=1.0, balance=balance).ids.tolist() == sorted(_made().ids.tolist())


def _quotas_are_kept_exactly(name: str) -> None:
    signals = _made()
    for size in (4, 21, 60):
        for balance in (0.0, 0.5, 1.0):
            out = selected(name, size=size, balance=balance)
            kept = np.asarray(signals.take(out.ids).labels)
            counts = np.bincount(kept, minlength=len(COUNTS)).tolist()
            assert sum(counts) == len(out) == size
            for count, available in zip(counts, COUNTS, strict=True):
                assert count >= min(available, balance * size / len(COUNTS))
            if balance == 1.0:  # as equal as the data allow: only exhausted classes may be smaller
                roomy = [count for count, available in zip(counts, COUNTS, strict=True) if count < available]
                assert max(counts) - min(roomy) <= 1
            assert out.certificate["class_counts"] == dict(zip(signals.classes, counts, strict=True))


def _no_balance_and_balance_zero_are_the_same(name: str) -> None:
    assert np.array_equal(selected(name, size=30, balance=None).ids, selected(name, size=30, balance=0).ids)


def _same_seed_same_bytes(name: str) -> None:
    for balance in (None, 0.7):
        first, second = (_bytes(selected(name, size=33, balance=balance, seed=4)) for _ in range(2))
        assert first == second


def _order_plays_no_part(name: str) -> None:
    for task in TASKS:
        if task not in registry.get("selector", name).tasks:
            continue
        made = as_task(_made(), task)
        for balance in (None, 0.7):
            run = partial(selected, name, size=33, balance=balance, seed=4)
            assert _bytes(run(made)) == _bytes(run(shuffled(made)))


def _draws_are_keyed_by_id(name: str) -> None:
    """Where all examples are alike, what a seed changes must change with the ids too, even if their order stays."""
    signals = _alike()
    renamed = replace(signals, ids=np.char.add("y", signals.ids))
    for balance in (None, 0.7):
        run = partial(selected, name, size=24, balance=balance)
        first, other = (run(signals, seed=seed).ids for seed in (5, 6))
        draws = not np.array_equal(first, other)
        assert np.array_equal(run(renamed, seed=5).ids, np.char.add("y", first)) != draws, "draws by position"


def _other_tasks_work_or_are_refused(name: str) -> None:
    for task in TASKS[1:]:
        given = as_task(_made(), task)
        for balance in (None, 0.5):
            run = partial(selected, name, given, size=20, balance=balance)
            if task not in registry.get("selector", name).tasks:
                refused(run, NotDefinedError, f"selector '{name}' is defined for .*, not for {task}")
                continue
            out = run()
            assert len(out) == 20
            assert out.certificate["class_counts"] is None
            if balance and task == "multilabel":
                _labels_are_kept(given, out, balance)
            elif balance:
                floors, counts = out.certificate["floors"], out.certificate["cluster_counts"]
                assert sum(counts.values()) == 20
                assert all(counts[group] >= floors[group] for group in floors)
                assert out.certificate["groups"] == "clusters"


def _labels_are_kept(given: Signals, out: Subset, balance: float) -> None:
    """Each of several labels must be in its share of the kept examples, or in all that have it."""
    held, kept = np.asarray(given.labels), np.asarray(given.take(out.ids).labels)
    assert out.certificate["groups"] == "labels"
    assert list(out.certificate["label_counts"].values()) == kept.sum(axis=0).tolist()
    for available, count in zip(held.sum(axis=0), kept.sum(axis=0), strict=True):
        assert count >= min(available, balance * len(out) / held.shape[1])


def _scores_with_signals_are_signals(name: str) -> None:
    usual = registry.get("selector", name).default_score or "aum"
    from_scores = select(name, score(usual, _made()), size=25, signals=shuffled(_made()))
    assert np.array_equal(from_scores.ids, select(name, _made(), size=25).ids)


def _missing_arrays_are_named(name: str) -> None:
    method = registry.get("selector", name)
    scores = score(method.default_score or "aum", _made())
    for needed in method.needs - {"scores"}:
        lacking = replace(_made(), arrays={"losses": _made().losses})
        for beside in (None, lacking):
            run = partial(select, name, scores, size=5, signals=beside)
            refused(run, NotDefinedError, f"selector '{name}' needs {needed}")


def _copies_of_one_example(name: str) -> None:
    """If all signals are equal, the size must still be exact."""
    made = planted(n=24, seeds=1, epochs=10).signals
    arrays = {key: np.zeros_like(values) for key, values in made.arrays.items()}
    assert len(selected(name, replace(made, arrays=arrays), size=9, balance=0.5)) == 9


def _certificate_and_provenance(name: str) -> None:
    method, out = registry.get("selector", name), selected(name, size=30, balance=0.5, seed=3)
    uses = "scores" in method.needs
    assert out.certificate["score"] == (method.default_score if uses else None)
    assert (out.certificate["reliability"] is not None) == uses
    assert 0 <= out.certificate["class_balance"] <= 1
    assert out.provenance["step"] == "select"
    assert {"name": name, "size": 30, "balance": 0.5, "seed": 3}.items() <= out.provenance["parameters"].items()
    assert out.provenance["inputs"]["signals"]["fingerprint"] == _made().fingerprint
    with tempfile.TemporaryDirectory() as folder:
        out.save(Path(folder, "subset.parquet"))
        back = Subset.load(Path(folder, "subset.parquet"))
    assert back.certificate == dict(out.certificate)
    assert back.fingerprint == out.fingerprint


def _runs_on_what_it_says_it_needs(name: str) -> None:
    plan, signals = parse_method(name), _made()
    arrays = {key: signals.arrays[key] for key in needs_of(name)} or {"losses": signals.losses}
    out = select(plan.selector, replace(signals, arrays=arrays), size=10, score=plan.score, **plan.parameters)
    assert len(out) == 10


def _is_documented(name: str) -> None:
    method = registry.get("selector", name)
    assert method.paper
    assert method.summary.endswith("."), "the first line of the docstring must be a sentence"
    assert "seed" in method.parameters
    assert ("scores" in method.needs) == (method.default_score is not None)


CHECKS: tuple[Callable[[str], None], ...] = (
    _exact_size_unique_ids_valid_weights,
    _keep_is_a_fraction,
    _keeping_all_keeps_all,
    _quotas_are_kept_exactly,
    _no_balance_and_balance_zero_are_the_same,
    _same_seed_same_bytes,
    _order_plays_no_part,
    _draws_are_keyed_by_id,
    _other_tasks_work_or_are_refused,
    _scores_with_signals_are_signals,
    _missing_arrays_are_named,
    _copies_of_one_example,
    _certificate_and_provenance,
    _runs_on_what_it_says_it_needs,
    _is_documented,
)


def checks_of_selector(name: str) -> dict[str, Callable[[], None]]:
    """Return every check of a selector by name."""
    registry.get("selector", name)
    return {check.__name__[1:]: partial(check, name) for check in CHECKS}
