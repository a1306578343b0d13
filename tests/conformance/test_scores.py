"""One suite over every registered score; a newcomer inherits it by being registered."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.oracles.scores import TWINS
from winnow.artefacts import Scores
from winnow.core import registry
from winnow.core.errors import NotDefinedError
from winnow.scores.score import list_scores, score

from .planted import as_task, planted, shuffled

SCORES = {method.name: method for method in list_scores()}
EVERY = pytest.mark.parametrize("name", sorted(SCORES))

# Properties a score cannot have, each with the reason; nothing else is excepted.
NOT_PER_EXAMPLE = {
    "prototype": "centroids are those of the examples present",
    "class_prototype": "the class mean is that of the examples present",
    "forgetting": "never learned counts as the largest count present plus one",
    "random": "drawn for the sequence of examples present",
    "interchangeability": "partners are counted among the examples present",
    "contradiction": "support comes from the examples present",
    "influence_norm": "the head is trained on the examples present",
    "loss_influence": "the heads are trained on the examples present",
}
NO_DIRECTION = {"random": "it knows nothing of the example"}
# Scores of which the planted hardness shows only a part; their direction must still be far from chance.
WEAK_DIRECTION = {
    "influence_norm": "a head sees no hardness in what lies beyond its class's centre, away from the other classes: of "
    "the hard ones that lie towards another class nearly all outrank the easy ones, of the rest a little over half do",
    "loss_influence": "it is one component of the influence vector, along the slope of the held-out loss, and a long "
    "vector may have a short component",
}
NO_RELIABILITY = dict.fromkeys(
    ("class_prototype", "influence_norm", "loss_influence"), "embeddings have no seeds and nothing is drawn"
)
NOISE = {"random": "two seeds share nothing"}


@pytest.fixture(scope="module")
def made():
    return planted()


@EVERY
def test_equals_its_slow_twin(name):
    signals = planted(n=36, seeds=2, epochs=12, models=30, seed=5).signals.canonical()
    assert np.allclose(score(name, signals).values, TWINS[name](signals), rtol=0, atol=1e-6)


@EVERY
def test_higher_is_harder(name, made):
    values = score(name, made.signals).values
    hard, easy = values[made.hard], values[~made.hard]
    wins = (hard[:, None] > easy).mean() + 0.5 * (hard[:, None] == easy).mean()
    if name in NO_DIRECTION:
        assert 0.35 < wins < 0.65
    else:
        # By chance the share of pairs is a half, with this standard error (Mann and Whitney).
        error = np.sqrt((hard.size + easy.size + 1) / (12 * hard.size * easy.size))
        assert wins > (0.5 + 5 * error if name in WEAK_DIRECTION else 0.9), (
            f"a hard example outranks an easy one in only {wins:.2f} of pairs"
        )


@EVERY
def test_order_of_the_examples_plays_no_part(name, made):
    mixed = shuffled(made.signals)
    first, second = score(name, made.signals), score(name, mixed)
    assert np.array_equal(second.ids, mixed.ids)
    assert np.array_equal(second.take(first.ids).values, first.values)
    assert first.reliability == second.reliability
    assert first.provenance == second.provenance


@EVERY
def test_same_signals_same_values(name, made):
    assert np.array_equal(score(name, made.signals).values, score(name, made.signals).values)


@pytest.mark.parametrize("name", sorted(set(SCORES) - set(NOT_PER_EXAMPLE)))
def test_other_examples_play_no_part(name, made):
    half = made.signals.ids[::2]
    whole, part = score(name, made.signals).take(half).values, score(name, made.signals.take(half)).values
    assert np.allclose(part, whole, rtol=1e-12, atol=1e-12)


def test_exceptions_are_about_registered_scores():
    assert {*NOT_PER_EXAMPLE, *NO_DIRECTION, *NO_RELIABILITY, *NOISE, *WEAK_DIRECTION} <= set(SCORES)


@EVERY
def test_finite_on_extreme_signals(name, made):
    rng = np.random.default_rng(3)
    arrays = dict(made.signals.arrays)
    arrays["logits"] = rng.choice([-1e4, 1e4], size=arrays["logits"].shape).astype(np.float32)
    arrays["losses"] = rng.choice([0.0, 2e4], size=arrays["losses"].shape).astype(np.float32)
    arrays["embeddings"] = rng.choice([0.0, 1e-20, 1e15], size=arrays["embeddings"].shape).astype(np.float32)
    assert np.isfinite(score(name, replace(made.signals, arrays=arrays)).values).all()


@EVERY
def test_finite_where_everything_is_equal(name, made):
    arrays = {
        key: values if key == "ensemble_member" else np.zeros_like(values)
        for key, values in made.signals.arrays.items()
    }
    out = score(name, replace(made.signals, arrays=arrays))
    assert np.isfinite(out.values).all()
    if name not in NO_DIRECTION and name != "forgetting":  # the class of number 0 is right, the others are not
        assert out.reliability is None


@EVERY
def test_inputs_are_left_alone(name, made):
    before = {key: values.copy() for key, values in made.signals.arrays.items()}
    score(name, made.signals)
    assert all(np.array_equal(values, made.signals.arrays[key]) for key, values in before.items())


@EVERY
def test_reliability(name, made):
    found = score(name, made.signals).reliability
    if name in NO_RELIABILITY:
        assert found is None
    elif name in NOISE:
        assert found is not None
        assert abs(found) < 0.3
    else:
        assert found is not None
        assert found > 0.6


@EVERY
def test_one_seed_has_no_reliability(name):
    seeded = "seed" in SCORES[name].parameters
    single = planted(n=30, seeds=1, models=60).signals
    halves = "ensemble_member" in SCORES[name].needs  # models, not seeds, are halved there
    assert (score(name, single).reliability is not None) == (seeded or halves)


@EVERY
def test_carries_task_labels_and_provenance(name, made):
    out = score(name, made.signals)
    assert out.name == name
    assert out.task == "classification"
    assert out.classes == made.signals.classes
    assert np.array_equal(out.labels, made.signals.labels)
    assert out.provenance["step"] == "score"
    assert set(out.provenance["parameters"]) == {"name", *SCORES[name].parameters}
    assert out.provenance["inputs"]["signals"]["fingerprint"] == made.signals.fingerprint


@EVERY
def test_save_and_load(name, made, tmp_path):
    out = score(name, made.signals)
    back = Scores.load(out.save(tmp_path / "scores.parquet"))
    assert np.array_equal(back.values, out.values)
    assert np.array_equal(back.ids, out.ids)
    assert back.reliability == out.reliability
    assert back.provenance == out.provenance


@EVERY
@pytest.mark.parametrize("task", ["regression", "unlabelled"])
def test_other_tasks_work_or_are_refused_with_a_reason(name, task, made):
    signals = as_task(made.signals, task)
    if task in SCORES[name].tasks:
        out = score(name, signals)
        assert out.task == task
        assert np.isfinite(out.values).all()
    else:
        with pytest.raises(NotDefinedError, match=rf"score '{name}' is defined for .*, not for {task} signals: it "):
            score(name, signals)


@EVERY
def test_missing_arrays_are_named(name, made):
    for needed in SCORES[name].needs:
        others = {key: values for key, values in made.signals.arrays.items() if key != needed}
        with pytest.raises(NotDefinedError, match=f"score '{name}' needs {needed}; .* Get it with wn"):
            score(name, replace(made.signals, arrays=others))


@pytest.mark.parametrize("name", sorted(name for name, method in SCORES.items() if "unlabelled" in method.tasks))
def test_unlabelled_only_where_no_label_is_read(name):
    """A score that claims to do without labels must not change with them."""
    signals = planted(n=40, seeds=2).signals
    other = replace(signals, labels=np.roll(signals.labels, 1))
    assert np.array_equal(score(name, signals).values, score(name, other).values)


@EVERY
def test_is_documented(name):
    method = SCORES[name]
    assert method.paper
    assert method.summary.endswith(".")
    assert "Parameters" in (method.function.__doc__ or "")
    assert method.function.__module__ == f"winnow.scores.{name}"
    assert registry.get("score", name) is method
