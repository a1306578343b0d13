from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import winnow as wn
from tests.signals.small import Counting, digits, rows, shuffled
from winnow.core.errors import NotDefinedError, StoreError, WinnowError
from winnow.engines import Local
from winnow.pruning import candidate
from winnow.pruning.auto import choose_method

QUICK = wn.Recipe(epochs=3, batch=16)
ONE = Local(workers=1)

# Trainings here are too short for scores to be reliable; that this is said is tested below.
pytestmark = pytest.mark.filterwarnings("ignore:score .* is unreliable here")


def prune(source: wn.Source, keep: float | None = None, **options: Any) -> wn.Subset:
    return wn.prune(source, keep, **{"model": "mlp", "recipe": QUICK, "seeds": 2, "engine": ONE, **options})


@pytest.mark.parametrize(
    ("task", "keep", "method"),
    [
        ("classification", 0.5, "medoids"),
        ("regression", 0.5, "difficulty+tilted(uniform=0.5)"),
        ("regression", 0.2, "difficulty+tilted(uniform=0.5)"),
        ("unlabelled", 0.5, "medoids"),
        ("unlabelled", 0.2, "medoids"),
    ],
)
def test_keep_by_task_with_the_method_that_auto_takes(task: str, keep: float, method: str) -> None:
    source = rows(60, task)
    network = {"model": "auto"} if task == "unlabelled" else {}
    subset = prune(source, keep, veto=0, keep_suspects=True, **network)
    assert len(subset) == keep * 60
    assert set(subset.ids) <= set(source.ids)
    assert subset.certificate["method"] == method
    assert subset.certificate["why"] == choose_method(task, keep, 60, len(source.classes)).why
    by_name = prune(source, keep, method=method, **network)
    assert by_name.ids.tolist() == subset.ids.tolist()
    assert by_name.certificate["why"] == "asked for"
    assert (subset.targets is None, by_name.targets is None) == (task == "unlabelled", True)


def test_likely_wrong_labels_are_left_out_and_said_to_be_unless_they_may_stay() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(-2, 1, (150, 4)), rng.normal(2, 1, (150, 4))]).astype(np.float32)
    right = np.repeat([0, 1], 150)
    wrong = rng.permutation(300)[:30]
    given = right.copy()
    given[wrong] = 1 - right[wrong]
    source = wn.open((x, given))
    how = {"model": "mlp", "recipe": wn.Recipe(epochs=8), "veto": 0, "engine": wn.Local(workers=1)}
    chosen, anyhow = (wn.prune(source, 0.5, keep_suspects=stay, **how) for stay in (False, True))
    bad = source.ids[wrong]
    assert np.isin(chosen.ids, bad).sum() <= 3
    assert np.isin(anyhow.ids, bad).sum() > 3
    count = chosen.certificate["suspects_left_out"]
    assert chosen.certificate["why"].endswith(f"; {count} likely wrong labels are left out")
    assert 20 <= count <= 45


def test_what_a_network_has_learned_is_no_suspect_and_few_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = np.arange(100) % 2
    source = wn.open((np.arange(200, dtype=np.float32).reshape(100, 2), labels))
    doubted = np.arange(100) < 20
    monkeypatch.setattr(candidate, "label_evidence", lambda _: SimpleNamespace(probability=np.where(doubted, 0.8, 0.1)))
    for missed, left_out in ((12, 12), (2, 2), (1, 0)):
        said = np.where(np.arange(100) < missed, 1 - labels, labels)  # what the network predicts in the end
        arrays = {"predictions": np.eye(2, dtype=np.float32)[said][None], "margins": np.zeros((1, 1, 100), np.float32)}
        signals = wn.Signals(source.ids, arrays, "classification", source.labels, source.classes, (1,), 1)
        found = candidate.suspects(source, signals)
        assert found is not None
        assert np.flatnonzero(found).tolist() == list(range(left_out))


def test_a_network_that_is_sure_of_nothing_names_no_suspects() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(-2, 1, (150, 4)), rng.normal(2, 1, (150, 4))]).astype(np.float32)
    source = wn.open((x, np.repeat([0, 1], 150)))
    want = ("dynamics", "predictions")
    short, long = (
        wn.observe(source, "mlp", wn.Recipe(epochs=epochs, batch=64, lr=1e-4), want=want, engine=wn.Local(workers=1))
        for epochs in (1, 60)
    )
    missed = short.array("predictions").mean(axis=0).argmax(axis=1) != source.labels
    assert missed.mean() > candidate.WORTH  # it has many to suspect
    assert not candidate.suspects(source, short).any()
    assert np.sort(long.array("predictions").mean(axis=0).max(axis=1))[-60:].mean() > candidate.SURE


def test_targets_far_from_what_the_network_predicts_are_left_out() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 3)).astype(np.float32)
    target = x @ np.array([1.0, -2.0, 0.5]) + 0.1 * rng.normal(size=400)
    wrong = rng.permutation(400)[:8]
    target[wrong] += 15
    source = wn.open((x, target.astype(np.float32)))
    how = {"model": "mlp", "recipe": wn.Recipe(epochs=30), "veto": 0, "engine": wn.Local(workers=1)}
    chosen, anyhow = (wn.prune(source, 0.5, keep_suspects=stay, **how) for stay in (False, True))
    assert not np.isin(chosen.ids, source.ids[wrong]).any()
    assert np.isin(anyhow.ids, source.ids[wrong]).any()
    assert chosen.certificate["why"].endswith("likely wrong targets are left out")


def test_auto_covers_if_few_are_kept_and_leans_otherwise() -> None:
    few, enough, unknown = (choose_method("classification", keep, 1000, 10) for keep in (0.29, 0.31, None))
    assert (few.name, enough.name, unknown.name) == ("medoids", "tilted", "tilted")
    assert few.why.startswith("about 29 examples are kept per class")
    assert "no labels" in choose_method("unlabelled", 0.9, 100).why
    assert "target is a number" in choose_method("regression", 0.9, 100).why


def test_el2n_of_prune_is_observe_score_select() -> None:
    source = digits(60)
    signals = wn.observe(source, "mlp", QUICK, 2, engine=ONE)
    by_hand = wn.select("rank", wn.score("el2n", signals), keep=0.5, balance=0.5, policy="hard")
    assert prune(source, 0.5, method="el2n").ids.tolist() == by_hand.ids.tolist()


@pytest.mark.parametrize(
    "method", ["forgetting", "grand", "memorization", "kcenter", "herding", "graph", "prototype+rank", "beta", "random"]
)
def test_methods_by_name(method: str) -> None:
    source = digits(60)
    recipe = wn.Recipe(epochs=12, batch=32)  # dual looks at windows of ten epochs
    subset = prune(source, 0.5, method=method, recipe=recipe)
    assert len(subset) == 30
    assert subset.certificate["method"] == method
    again = prune(shuffled(source), 0.5, method=method, recipe=recipe)
    assert again.ids.tolist() == subset.ids.tolist()
    assert again.weights.tolist() == subset.weights.tolist()


@pytest.mark.parametrize("method", ["grand", "kcenter", "prototype"])
def test_methods_for_a_regression(method: str) -> None:
    assert len(prune(rows(40, "regression"), 0.25, method=method)) == 10


def uneven() -> wn.Source:
    """90 examples of one class, well inside, and 30 of another that are harder."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [90, 30])
    return wn.open((rng.normal(size=(120, 3)) + 2.0 * y[:, None], y))


def counts(source: wn.Source, subset: wn.Subset) -> list[int]:
    return np.bincount(np.asarray(source.labels)[subset.indices(source)], minlength=2).tolist()


@pytest.mark.parametrize("method", ["auto", "aum", "random"])
def test_balance_is_a_floor_for_each_class(method: str) -> None:
    source = uneven()
    options: dict[str, Any] = {"method": method, "veto": 0}
    assert min(counts(source, prune(source, 0.4, balance=1.0, **options))) == 24
    assert min(counts(source, prune(source, 0.4, **options))) >= 12  # one half of an equal share, if not given
    free = prune(source, 0.4, balance=0.0, **options)
    assert min(counts(source, free)) != 24 or method == "auto"  # medoids cover each class by themselves
    assert "class_balance" in free.certificate


def test_provenance_holds_versions_seeds_parameters_and_fingerprints() -> None:
    source = digits(60)
    subset = prune(source, 0.5, method="aum", seed=3)
    about = subset.provenance
    assert about["step"] == "select"
    assert about["parameters"]["seed"] == 3
    assert about["parameters"]["size"] == 30
    assert {"winnow-data", "torch", "python"} <= set(about["versions"])
    scored = about["inputs"]["scores"]
    assert scored["parameters"]["name"] == "aum"
    observed = scored["inputs"]["signals"]
    assert observed["parameters"]["seeds"] == [0, 1]
    assert observed["parameters"]["seed"] == 3
    assert observed["parameters"]["model"] == "mlp"
    assert observed["parameters"]["recipe"]["epochs"] == 3
    assert observed["inputs"]["source"]["fingerprint"] == source.fingerprint
    json.dumps([about, subset.certificate])


def test_a_score_that_hardly_agrees_with_itself_is_pointed_out() -> None:
    rng = np.random.default_rng(0)
    source = wn.open((rng.normal(size=(60, 4)), rng.integers(0, 2, 60)))
    with pytest.warns(UserWarning, match="score 'aum' is unreliable here .*more seeds or epochs"):
        prune(source, 0.5, method="aum", recipe=wn.Recipe(epochs=1, batch=60, lr=1e-6))


def test_seed_decides() -> None:
    source = digits(60)
    first, again, other = (prune(source, 0.5, veto=0, seed=seed).ids.tolist() for seed in (0, 0, 1))
    assert first == again != other


@pytest.mark.parametrize(
    ("task", "options", "words"),
    [
        (
            "regression",
            {"method": "el2n"},
            "'el2n' .* is defined for classification and multilabel, and .*regression",
        ),
        ("regression", {"method": "beta"}, "defined for classification"),
        ("unlabelled", {"method": "aum+strata"}, "is unlabelled"),
        ("classification", {"method": "strata", "betaa": 0.1}, "betaa"),
        ("classification", {"recipe": "fast"}, "recipe of prune must be a Recipe; got str"),
        ("classification", {"balance": 1.5}, "balance of prune"),
        ("classification", {"seeds": 0}, "seeds of prune"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_trained(task: str, options: Any, words: str) -> None:
    counting = Counting()
    with pytest.raises(WinnowError, match=words):
        prune(rows(task=task), 0.5, **{"engine": counting, **options})
    assert counting.done == 0


def easy(n: int = 150) -> wn.Source:
    rng = np.random.default_rng(1)
    y = np.arange(n) % 3
    return wn.open((rng.normal(size=(n, 2)) * 0.2 + 4 * np.stack([y == 0, y == 1], 1), y))


@pytest.mark.usefixtures("short_search")
def test_a_tolerance_that_can_be_held_is_held_and_said_so() -> None:
    source = easy()
    recipe = wn.Recipe(epochs=3, batch=16, lr=0.05)
    subset = prune(source, tolerance=0.2, method="random", recipe=recipe)
    about = subset.certificate
    assert about["holds"] is True
    assert len(subset) <= 120
    assert "is the smallest of" in about["claim"]
    assert "within 0.2 of the accuracy of training on everything, measured on all 150 examples by 5" in about["claim"]
    assert "with 95 % confidence" in about["claim"]
    held = [row for row in about["measured"] if row["holds"]]
    assert held[-1]["upper"] <= 0.2
    assert len(subset) == round(held[-1]["fraction"] * 150)
    assert set(subset.ids) <= set(source.ids)


def test_a_hopeless_tolerance_keeps_everything_and_says_so() -> None:
    source = easy(60)
    subset = prune(source, tolerance=1e-6)
    assert subset.ids.tolist() == sorted(source.ids.tolist())
    assert subset.certificate["holds"] is False
    assert subset.certificate["method"] == "everything"
    assert subset.certificate["claim"].startswith("No fraction was shown to hold")
    assert subset.certificate["claim"].endswith("Everything is kept.")
    assert subset.certificate["measured"]
    assert subset.targets is None  # those held out were not observed, and everything is trained on as it always was


def test_a_tolerance_is_measured_on_the_validation_data_given(tmp_path) -> None:
    source, other = easy(90), easy(150).at(np.arange(90, 150))
    options: dict[str, Any] = {"tolerance": 0.3, "recipe": wn.Recipe(epochs=4, batch=16, lr=0.01)}
    subset = prune(source, validation=other, out=tmp_path / "run", **options)
    assert subset.certificate["validation_examples"] == 60
    with pytest.raises(StoreError, match="validation was"):
        prune(source, validation=other.at(np.arange(30)), out=tmp_path / "run", **options)


def test_a_tolerance_needs_labels() -> None:
    with pytest.raises(NotDefinedError, match="give keep="):
        wn.prune(rows(task="unlabelled"), tolerance=0.1)


def test_random_looks_at_nothing_and_costs_no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("something was observed")

    monkeypatch.setattr("winnow.pruning.method_inputs.observe", never)
    assert len(prune(digits(60), 0.5, method="random")) == 30


@pytest.mark.parametrize(
    ("options", "fragment"),
    [({"method": "dual", "window": 30}, "window"), ({"method": "strata", "bins": -1}, "bins")],
)
def test_parameters_that_cannot_work_are_refused_before_anything_is_trained(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], fragment: str
) -> None:
    monkeypatch.setattr("winnow.pruning.method_inputs.observe", lambda *_, **__: pytest.fail("something was trained"))
    with pytest.raises(WinnowError, match=fragment):
        prune(digits(60), 0.5, **options)


def test_quotas_are_of_equal_parts_only_where_the_metric_counts_classes_alike() -> None:
    draw = np.random.default_rng(0)
    labels = np.repeat(["much", "rare"], [190, 10])
    points = draw.normal(size=(200, 3)).astype(np.float32)
    given = {"recipe": wn.Recipe(epochs=2), "model": "linear", "veto": 0, "engine": wn.Local(workers=1)}
    source = wn.open((points, labels))
    plain = wn.prune(source, 0.3, **given)
    alike = wn.prune(source, 0.3, metric="balanced_accuracy", **given)
    assert plain.certificate["balance"] == pytest.approx(0.05)
    assert alike.certificate["balance"] == 0.5
    assert alike.certificate["class_counts"]["rare"] > plain.certificate["class_counts"]["rare"]
