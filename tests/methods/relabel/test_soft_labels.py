"""Soft labels: what a classifier believes, and students that learn it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import winnow as wn
from winnow.artefacts.ledger import ledger
from winnow.artefacts.soft_labels import SoftLabels
from winnow.engines import Local
from winnow.evaluation.arms import plan
from winnow.evaluation.soft_arms import with_soft
from winnow.methods.relabel.prior_labels import soft_labels
from winnow.training import Recipe

HERE = Local(workers=1)
QUICK = Recipe(epochs=10, batch=16, lr=0.05)
CLASSES = ("0", "1", "2")


def clouds(n: int = 150, seed: int = 0) -> wn.Source:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    x = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 2.0]])[y] + rng.standard_normal((n, 2))
    return wn.open((x, y))


TRAIN, TEST = clouds(), clouds(90, seed=1)


def prior() -> torch.nn.Module:
    """Nearly the best classifier there is: logits are the inner products with the centres."""
    net = torch.nn.Linear(2, 3)
    with torch.no_grad():
        net.weight.copy_(torch.tensor([[2.0, 0.0], [-2.0, 0.0], [0.0, 2.0]]))
        net.bias.zero_()
    return net


def made(values: Any, ids: Any = (1, 2), classes: tuple[str, ...] = CLASSES) -> SoftLabels:
    return SoftLabels(np.asarray(ids), np.asarray(values), classes)


def test_softmax_of_the_prior_by_hand() -> None:
    got = soft_labels(TRAIN, prior(), mean=(0.0, 0.0), std=(1.0, 1.0), temperature=2.0)
    x = TRAIN.read(np.arange(len(TRAIN))).astype(np.float64)
    powers = np.exp(x @ np.array([[1.0, -1.0, 0.0], [0.0, 0.0, 1.0]]))
    assert np.allclose(got.at(TRAIN.ids), powers / powers.sum(1, keepdims=True), atol=5e-4)
    assert list(got.ids) == list(TRAIN.ids)
    assert (got.classes, len(got), got.values.dtype) == (TRAIN.classes, 150, np.float16)
    assert got.agreement(TRAIN) > 0.8
    assert got.seconds > 0


def test_temperature_softens_and_keeps_the_order() -> None:
    cold, warm = (soft_labels(TRAIN, prior(), temperature=t) for t in (0.5, 5.0))
    assert (cold.values.max(1) >= warm.values.max(1)).all()
    assert (cold.values.argmax(1) == warm.values.argmax(1)).all()


def test_order_of_the_source_and_batches_do_not_matter() -> None:
    mixed = TRAIN.at(np.random.default_rng(2).permutation(len(TRAIN)))
    one, other = soft_labels(TRAIN, prior()), soft_labels(mixed, prior(), batch=7)
    assert np.allclose(one.at(TRAIN.ids), other.at(TRAIN.ids), atol=1e-3)  # one step of half precision
    same = soft_labels(mixed, prior())
    assert same.fingerprint == one.fingerprint


def test_a_named_network_needs_its_weights(tmp_path: Path) -> None:
    net = wn.models.build("mlp", classes=3, shape=(2,), seed=4)
    torch.save(net.state_dict(), tmp_path / "mlp.pt")
    named = soft_labels(TRAIN, "mlp", weights=tmp_path / "mlp.pt")
    assert named.fingerprint == soft_labels(TRAIN, net).fingerprint
    with pytest.raises(wn.errors.InputError, match="weights of soft_labels must be given for network 'mlp'"):
        soft_labels(TRAIN, "mlp")


def test_saved_and_loaded(tmp_path: Path) -> None:
    soft = soft_labels(TRAIN, prior(), prior_seconds=12.0)
    again = SoftLabels.load(soft.save(tmp_path / "soft.parquet"))
    assert again.fingerprint == soft.fingerprint
    assert (again.seconds, again.prior_seconds, again.classes) == (soft.seconds, 12.0, soft.classes)
    assert again.provenance == soft.provenance
    assert again.provenance["inputs"]["source"]["fingerprint"] == TRAIN.fingerprint


def test_one_call_gives_all_four_arms() -> None:
    soft = soft_labels(TRAIN, prior(), prior_seconds=3.0)
    few = wn.Subset(TRAIN.ids[:6])
    how = {"test": TEST, "recipe": QUICK, "model": "mlp", "seeds": 2, "engine": HERE}
    plain = wn.evaluate(TRAIN, {"few": few}, **how)
    study = wn.evaluate(TRAIN, {"few": few}, soft=soft, costs={"few": {"select": 1.0}}, **how)
    assert [arm.name for arm in study.arms] == [
        "full",
        "everything@0.04",
        "random@0.04",
        "few",
        "soft everything@0.04",
        "soft random@0.04",
        "soft few",
    ]
    for arm in plain.arms:  # hard arms know nothing of the soft ones
        assert [o.loss for o in plain.of(arm.name).values()] == [o.loss for o in study.of(arm.name).values()]
    assert study.arm("soft few").baseline == "soft random@0.04"
    assert study.arm("soft random@0.04").baseline == "random@0.04"
    assert study.of("soft few")[0].loss != study.of("few")[0].loss
    rows = {row["arm"]: row for row in ledger(study)}
    assert rows["soft few"]["selection_s"] == pytest.approx(4.0 + soft.seconds)
    assert rows["soft few"]["pretrain_s"] == 3.0
    assert rows["few"]["selection_s"] == 1.0
    assert study.provenance["parameters"]["soft"] == soft.fingerprint
    assert "soft" not in plain.provenance["parameters"]


def test_certain_soft_labels_are_labels() -> None:
    assert TRAIN.labels is not None
    certain = SoftLabels(TRAIN.ids, np.eye(3)[TRAIN.labels], TRAIN.classes)
    few = wn.Subset(TRAIN.ids[:30], np.linspace(1, 3, 30))
    study = wn.evaluate(
        TRAIN, {"few": few}, test=TEST, soft=certain, model="mlp", recipe=QUICK, seeds=1, full=False, engine=HERE
    )
    (hard,), (soft,) = study.of("few").values(), study.of("soft few").values()
    assert soft.loss == pytest.approx(hard.loss, rel=1e-4)
    assert soft.value == hard.value


def test_a_good_prior_mends_wrong_labels_and_a_shuffled_one_does_not() -> None:
    """Labels of the subset are wrong throughout; what the prior believes is right; marks are by the test's labels."""
    assert TRAIN.labels is not None
    wrong = TRAIN.with_labels((TRAIN.labels + 1) % 3, "classification", TRAIN.classes)
    soft = soft_labels(wrong, prior(), temperature=1.0)
    mixed = SoftLabels(soft.ids, soft.values[np.random.default_rng(0).permutation(len(soft))], soft.classes)
    how = {"test": TEST, "model": "mlp", "recipe": QUICK, "seeds": 1, "random": False, "full": False, "engine": HERE}
    study = wn.evaluate(wrong, {"all": wn.Subset(wrong.ids)}, soft=soft, **how)
    control = wn.evaluate(wrong, {"all": wn.Subset(wrong.ids)}, soft=mixed, **how)
    assert study.interval("all").centre < 0.2
    assert study.interval("soft all").centre > 0.8
    assert control.interval("soft all").centre < 0.7


def test_trainings_are_kept_under_their_targets(tmp_path: Path) -> None:
    few = {"few": wn.Subset(TRAIN.ids[:6])}
    how = {"test": TEST, "model": "mlp", "recipe": QUICK, "seeds": 1, "out": tmp_path / "run", "engine": HERE}
    warm, cold = (soft_labels(TRAIN, prior(), temperature=t) for t in (3.0, 0.3))
    first = wn.evaluate(TRAIN, few, soft=warm, **how)
    again = wn.evaluate(TRAIN, few, soft=warm, **how)
    other = wn.evaluate(TRAIN, few, soft=cold, **how)
    assert again.outcomes == first.outcomes  # seconds included: nothing was trained
    assert other.of("few") == first.of("few")
    assert other.of("soft few")[0].loss != first.of("soft few")[0].loss


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([[0.5, 0.6, -0.1], [0.2, 0.3, 0.5]], "must not be negative; the smallest is -0.1"),
        ([[0.2, 0.3, 0.5], [0.5, 0.6, 0.1]], "must sum to 1 in each row; row 1 sums to 1.2"),
        ([[0.5, np.nan, 0.5], [0.2, 0.3, 0.5]], "must be finite"),
        ([[0.5, 0.5], [0.2, 0.8]], "a column for each of the 3 classes, at least two; got 2"),
        ([[0.2, 0.3, 0.5]], "must have 2 rows"),
    ],
)
def test_values_that_are_no_probabilities(values: Any, sentence: str) -> None:
    with pytest.raises(wn.errors.InputError, match=sentence):
        made(values)


class Odd(torch.nn.Module):
    """Gives a tuple."""

    def forward(self, x: torch.Tensor) -> Any:
        return (x,)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"prior": torch.nn.Linear(2, 5)}, r"one output for each of the 3 classes; got shape \(5,\)"),
        ({"prior": torch.nn.Linear(4, 3)}, r"a Linear, cannot take examples of shape \(2,\)"),
        ({"prior": Odd()}, "an? Odd, cannot take|Odd, must give"),
        ({"prior": 3}, "prior of soft_labels must be a torch module or the name of a network; got int"),
        ({"weights": "w.pt"}, "weights of soft_labels are only for a named network"),
        ({"temperature": 0.0}, "temperature of soft_labels must be"),
        ({"mean": (0.0, 0.0)}, "soft_labels needs mean and std together"),
        ({"source": wn.open(np.arange(8.0).reshape(4, 2))}, "needs one class per example"),
    ],
)
def test_refusals(change: dict[str, Any], sentence: str) -> None:
    given: dict[str, Any] = {"source": TRAIN, "prior": prior(), **change}
    with pytest.raises(wn.errors.WinnowError, match=sentence):
        soft_labels(given.pop("source"), given.pop("prior"), **given)


def test_a_prior_that_gives_nan_is_refused() -> None:
    net = prior()
    with torch.no_grad():
        net.bias[0] = torch.nan
    with pytest.raises(wn.errors.InputError, match="NaN or infinite outputs for 150 example"):
        soft_labels(TRAIN, net)


def test_evaluate_refuses_soft_labels_that_do_not_fit() -> None:
    from sklearn.linear_model import LogisticRegression

    soft = soft_labels(TRAIN, prior())
    few = {"few": wn.Subset(TRAIN.ids[:6])}
    strange = SoftLabels(soft.ids, soft.values, ("a", "b", "c"))
    short = SoftLabels(soft.ids[3:], soft.values[3:], soft.classes)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"soft": np.ones((150, 3))}, "soft of evaluate must be SoftLabels"),
        ({"soft": strange}, "must have the 3 classes of source"),
        ({"soft": short}, "soft of evaluate lacks examples of arm 'few'"),
        ({"soft": soft, "model": LogisticRegression()}, "soft of evaluate is for networks"),
        ({"soft": soft, "subsets": {**few, "soft few": few["few"]}}, "must not be 'soft few'"),
    ]
    for change, sentence in cases:
        given: dict[str, Any] = {"subsets": few, "test": TEST, "random": False, "engine": HERE, **change}
        with pytest.raises(wn.errors.InputError, match=sentence):
            wn.evaluate(TRAIN, given.pop("subsets"), **given)


def test_classes_are_matched_by_name() -> None:
    soft = soft_labels(TRAIN, prior(), temperature=2.0)
    turned = SoftLabels(soft.ids, soft.values[:, [2, 0, 1]], ("2", "0", "1"))
    assert turned.with_classes(soft.classes).fingerprint == soft.fingerprint
    assert turned.agreement(TRAIN) == soft.agreement(TRAIN)
    how = {"test": TEST, "model": "mlp", "recipe": Recipe(epochs=2), "seeds": 1, "full": False, "random": False}
    one, other = (
        wn.evaluate(TRAIN, {"few": wn.Subset(TRAIN.ids[:9])}, soft=each, engine=HERE, **how) for each in (soft, turned)
    )
    assert one.of("soft few")[0].loss == other.of("soft few")[0].loss


def test_what_soft_labels_took_is_added_to_what_the_subset_took() -> None:
    source, few = TRAIN, {"few": {0: wn.Subset(TRAIN.ids[:9])}, "soft+few": {0: wn.Subset(TRAIN.ids[9:18])}}
    soft = SoftLabels(source.ids, np.full((150, 3), 1 / 3), source.classes, seconds=2.0, prior_seconds=5.0)
    costs = {"few": {"select": 1.0, "targets": 4.0, "pretrain": 8.0}}
    arms = with_soft(plan(source, few, [0], random=False, full=False, seed=0, costs=costs), soft)
    paid = {one.arm.name: one.arm.selection for one in arms}
    assert paid["soft few"] == {"select": 1.0, "targets": 6.0, "pretrain": 13.0}
    assert (paid["few"], paid["soft soft+few"]) == (costs["few"], {})
    assert len({one.folder for one in arms}) == len(arms)  # trainings of two arms are never kept in one place


def test_layers_that_were_frozen_one_by_one_stay_so() -> None:
    net = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Dropout(0.5), prior()).train()
    net[0].eval()
    before = net[0].running_mean.clone()
    soft_labels(TRAIN, net)
    assert [layer.training for layer in net] == [False, True, True]
    assert torch.equal(net[0].running_mean, before)


@pytest.mark.parametrize("classes", [None, 3, "abc", ("a", "b", "a")])
def test_names_of_classes_that_are_none(classes: Any) -> None:
    with pytest.raises(wn.errors.InputError, match="classes of SoftLabels must be"):
        made([[0.2, 0.3, 0.5], [0.2, 0.3, 0.5]], classes=classes)
