"""Checks of every score: direction, independence of order, finite numbers, clear errors."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np

from ..artefacts import Scores
from ..artefacts.labelled_logits import DYNAMICS
from ..core import registry
from ..core.errors import NotDefinedError
from ..scores.score import score
from .expect import refused
from .planted import Planted, as_task, planted, shuffled

__all__ = ["checks_of_score", "share_of_wins"]

FOLLOWING = (*DYNAMICS, "predictions")  # arrays that signals compute from their logits


@cache
def _made() -> Planted:
    return planted()


def share_of_wins(name: str) -> tuple[float, float]:
    """Return the share of planted pairs in which the hard example ranks above the easy one, and its standard error."""
    made = _made()
    values = score(name, made.signals).values
    hard, easy = values[made.hard], values[~made.hard]
    wins = (hard[:, None] > easy).mean() + 0.5 * (hard[:, None] == easy).mean()
    return float(wins), float(np.sqrt((hard.size + easy.size + 1) / (12 * hard.size * easy.size)))


def _higher_is_harder(name: str) -> None:
    wins, _ = share_of_wins(name)
    assert wins > 0.9, f"a hard example ranks above an easy one in only {wins:.2f} of pairs"


def _order_plays_no_part(name: str) -> None:
    made, mixed = _made().signals, shuffled(_made().signals)
    first, second = score(name, made), score(name, mixed)
    assert np.array_equal(second.ids, mixed.ids)
    assert np.array_equal(second.take(first.ids).values, first.values)
    assert first.reliability == second.reliability
    assert first.provenance == second.provenance


def _same_signals_same_values(name: str) -> None:
    made = _made().signals
    assert np.array_equal(score(name, made).values, score(name, made).values)


def _other_examples_play_no_part(name: str) -> None:
    made = _made().signals
    half = made.ids[::2]
    whole, part = score(name, made).take(half).values, score(name, made.take(half)).values
    assert np.allclose(part, whole, rtol=1e-12, atol=1e-12)


def _finite_on_extreme_signals(name: str) -> None:
    made, rng = _made().signals, np.random.default_rng(3)
    arrays = dict(made.arrays)
    arrays["logits"] = rng.choice([-1e4, 1e4], size=arrays["logits"].shape).astype(np.float32)
    arrays["losses"] = rng.choice([0.0, 2e4], size=arrays["losses"].shape).astype(np.float32)
    arrays["embeddings"] = rng.choice([0.0, 1e-20, 1e15], size=arrays["embeddings"].shape).astype(np.float32)
    for array in FOLLOWING[1:]:
        arrays.pop(array, None)
    extreme = replace(made, arrays=arrays)
    held = {array: extreme.array(array) for array in FOLLOWING[1:]}
    assert np.isfinite(score(name, extreme).values).all()
    assert np.isfinite(score(name, replace(made, arrays={**arrays, **held})).values).all()


def _held_arrays_and_logits_agree(name: str) -> None:
    made = _made().signals
    arrays = {key: values for key, values in made.arrays.items() if key not in FOLLOWING}
    assert np.allclose(score(name, replace(made, arrays=arrays)).values, score(name, made).values, atol=1e-5)


def _finite_where_everything_is_equal(name: str) -> None:
    made = _made().signals
    arrays = {key: values if key == "ensemble_member" else np.zeros_like(values) for key, values in made.arrays.items()}
    out = score(name, replace(made, arrays=arrays))
    assert np.isfinite(out.values).all()
    if np.ptp(out.values) == 0:
        assert out.reliability is None


def _inputs_are_left_alone(name: str) -> None:
    made = _made().signals
    before = {key: values.copy() for key, values in made.arrays.items()}
    score(name, made)
    assert all(np.array_equal(values, made.arrays[key]) for key, values in before.items())


def _halves_of_the_seeds_agree(name: str) -> None:
    found = score(name, _made().signals).reliability
    needed = [registry.signal_of(array) for array in registry.get("score", name).needs]
    if needed and all(entry is not None and entry.when == "data" for entry in needed):
        assert found is None, "no training has a part in it, so it cannot have a reliability"
        return
    assert found is not None, "there is no reliability"
    assert found > 0.6, f"the rank correlation between halves of the seeds is {found:.2f}"


def _one_seed_has_no_reliability(name: str) -> None:
    method = registry.get("score", name)
    single = planted(n=30, seeds=1, models=60).signals
    models = any(
        "models" in registry.layout_of(need).axes for need in method.needs
    )  # then the models are halved instead of the seeds
    assert (score(name, single).reliability is not None) == ("seed" in method.parameters or models)


def _carries_task_labels_and_provenance(name: str) -> None:
    made = _made().signals
    out = score(name, made)
    assert (out.name, out.task, out.classes) == (name, "classification", made.classes)
    assert np.array_equal(np.asarray(out.labels), np.asarray(made.labels))
    assert out.provenance["step"] == "score"
    assert set(out.provenance["parameters"]) == {"name", *registry.get("score", name).parameters}
    assert out.provenance["inputs"]["signals"]["fingerprint"] == made.fingerprint


def _can_be_saved(name: str) -> None:
    out = score(name, _made().signals)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "scores.parquet")
        out.save(path)
        back = Scores.load(path)
    assert np.array_equal(back.values, out.values)
    assert np.array_equal(back.ids, out.ids)
    assert (back.reliability, back.provenance) == (out.reliability, out.provenance)


def _other_tasks_work_or_are_refused(name: str) -> None:
    for task in ("multilabel", "regression", "unlabelled"):
        signals = as_task(_made().signals, task)
        if task in registry.get("score", name).tasks:
            out = score(name, signals)
            assert out.task == task
            assert np.isfinite(out.values).all()
            again = score(name, shuffled(signals)).take(out.ids)
            assert np.array_equal(again.values, out.values), f"the order of {task} signals plays a part"
        else:
            pattern = rf"score '{name}' is defined for .*, not for {task} signals: it "
            refused(partial(score, name, signals), NotDefinedError, pattern)


def _missing_arrays_are_named(name: str) -> None:
    made = _made().signals
    for needed in registry.get("score", name).needs:
        gone = {needed, "logits"} if needed in FOLLOWING else {needed}
        others = {key: values for key, values in made.arrays.items() if key not in gone}
        pattern = f"score '{name}' needs {needed}; .* Get it with wn"
        refused(partial(score, name, replace(made, arrays=others)), NotDefinedError, pattern)


def _no_label_is_read_where_none_is_needed(name: str) -> None:
    if "unlabelled" in registry.get("score", name).tasks:
        signals = planted(n=40, seeds=2).signals
        other = replace(signals, labels=np.roll(np.asarray(signals.labels), 1))
        assert np.array_equal(score(name, signals).values, score(name, other).values)


def _is_documented(name: str) -> None:
    method = registry.get("score", name)
    assert method.paper
    assert method.summary.endswith("."), "the first line of the docstring must be a sentence"
    assert "Parameters" in (method.function.__doc__ or "")


CHECKS: tuple[Callable[[str], None], ...] = (
    _higher_is_harder,
    _order_plays_no_part,
    _same_signals_same_values,
    _other_examples_play_no_part,
    _finite_on_extreme_signals,
    _held_arrays_and_logits_agree,
    _finite_where_everything_is_equal,
    _inputs_are_left_alone,
    _halves_of_the_seeds_agree,
    _one_seed_has_no_reliability,
    _carries_task_labels_and_provenance,
    _can_be_saved,
    _other_tasks_work_or_are_refused,
    _missing_arrays_are_named,
    _no_label_is_read_where_none_is_needed,
    _is_documented,
)


def checks_of_score(name: str) -> dict[str, Callable[[], None]]:
    """Return every check of a score by name."""
    registry.get("score", name)
    return {check.__name__[1:]: partial(check, name) for check in CHECKS}
