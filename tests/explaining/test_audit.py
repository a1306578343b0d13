"""audit: right by slow twins, fair to random subsets, the same for any order, and clear about what is bad."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

import winnow as wn
from tests.oracles import explaining as slow
from winnow.artefacts.audit import Audit, Measure, ordinary
from winnow.core.errors import InputError, WinnowError
from winnow.explaining.reduced_features import head_features_of, reduced
from winnow.explaining.subset_measures import Compared, kernel_coverage, measures_of

HOW = {"model": "mlp", "recipe": wn.Recipe(epochs=3, batch=32), "draws": 5}


@pytest.fixture(scope="module")
def digits() -> wn.Source:
    return wn.open("digits", limit=300)


@pytest.fixture(scope="module")
def trained(digits: wn.Source) -> Audit:
    return wn.audit(digits.ids[::3], digits, **HOW, test=wn.open("digits", split="test"))


def compared(n=60, kept=(3, 7, 20, 41, 55), weights=None, draws=4, **more):
    rng = np.random.default_rng(0)
    points, labels = rng.normal(size=(n, 6)) * [4, 3, 2, 1, 1, 1], np.arange(n) % 3
    points[:, 0] += 3 * labels
    where = np.array(kept)
    share = np.ones(where.size) if weights is None else np.array(weights, dtype=float)
    flat, _ = reduced(points, None, 64)
    ids = np.array([f"{i:03d}" for i in range(n)])
    return Compared(flat, labels, "classification", 3, where, share, ids, 0, draws, **more)


def test_reduced_features_keep_distances_and_come_widest_first():
    rng = np.random.default_rng(1)
    points = np.hstack([rng.normal(size=(50, 5)) * [1, 9, 3, 1, 1], np.full((50, 1), 7.0)])
    flat, others = reduced(points, points[:3], 64)
    twin = slow.along_axes(points, 5)
    assert flat.shape == (50, 5)  # the constant column is no direction
    np.testing.assert_allclose(np.abs(flat), np.abs(twin), atol=1e-9)
    np.testing.assert_allclose(others, flat[:3], atol=1e-9)
    assert reduced(points, None, 2)[0].shape == (50, 2)
    rows, ones = head_features_of(flat, others)
    np.testing.assert_allclose(rows[:, :-1].std(axis=0) / rows[:, 0].std(), flat.std(axis=0) / flat[:, 0].std())
    assert np.square(rows[:, :-1]).mean() == pytest.approx(1.0)
    assert (rows[:, -1] == 1).all()
    assert (ones[:, -1] == 1).all()


def test_distances_are_those_of_the_twin():
    about = compared()
    found = {one.name: one for one in measures_of(about)}
    far = slow.nearest_distances(about.points, about.points[about.kept])
    unit = np.sqrt(np.square(about.points).sum(axis=1).mean())
    assert found["distance"].value == pytest.approx(far.mean() / unit)
    assert found["far distance"].value == pytest.approx(np.quantile(far, 0.95) / unit)


def test_the_head_is_that_of_the_subset_with_its_weights():
    weights = [1.0, 5.0, 2.0, 1.0, 3.0]
    about = compared(weights=weights)
    found = {one.name: one for one in measures_of(about)}
    rows, _ = head_features_of(about.points, None)
    whole = wn.influence.fit_head(rows, about.labels, 0.01).theta
    few = wn.influence.fit_head(rows[about.kept], about.labels[about.kept], 0.01, weights=weights, classes=3).theta
    assert found["head change"].value == pytest.approx(np.linalg.norm(few - whole) / np.linalg.norm(whole), rel=1e-6)
    rest = np.setdiff1d(np.arange(60), about.kept)
    right = ((rows[rest] @ few).argmax(axis=1) == about.labels[rest]).mean()
    assert found["forecast"].value == pytest.approx(right)
    plain = {one.name: one for one in measures_of(compared())}
    assert plain["head change"].value != found["head change"].value
    assert plain["head change"].random == found["head change"].random  # random subsets have no weights


def test_everything_changes_nothing_and_has_no_random_subsets():
    about = compared(kept=range(60))
    found = {one.name: one for one in measures_of(about)}
    assert set(found) == {"head change", "head loss", "moment error", "distance", "far distance"}
    assert found["head change"].value < 1e-6
    assert abs(found["head loss"].value) < 1e-9
    assert found["moment error"].value < 1e-9
    assert found["distance"].value < 1e-6
    assert all(one.random == () and one.standing == "" for one in found.values())


def test_kernel_coverage_is_that_of_the_twin():
    about = compared(kept=(3, 7, 20, 41))  # classes 0, 1 and 2, twice 2
    rows, where = np.random.default_rng(2).normal(size=(30, 4)), np.arange(0, 60, 2)
    found = kernel_coverage(about, rows, where)
    inside = [i for i, place in enumerate(where) if place in about.kept]
    assert found.value == pytest.approx(slow.coverage(rows, about.labels[where], inside))
    assert found.higher


def test_an_exact_head_is_better_than_random_and_one_class_is_worse(digits):
    raw = digits.read(np.arange(300)).reshape(300, -1).astype(float)
    few, _ = reduced(raw, None, 8)
    rows, _ = head_features_of(few, None)
    exact = wn.influence.head_coreset(rows, digits.labels, 150, 0.01)  # the damping of audit
    subset = wn.Subset(digits.ids[exact.positions], weights=exact.weights)
    good = wn.audit(subset, digits, embeddings=few, draws=5)
    assert good.measure("head change").value < 1e-6
    assert good.measure("head change").standing == "better than random"
    assert abs(good.measure("head loss").value) < 1e-8
    assert good.weighted
    assert good.effective_size == pytest.approx(exact.certificate["effective_size"])
    bad = wn.audit(np.flatnonzero(digits.labels == 3), digits, embeddings=few, draws=5)
    for name in ("head loss", "forecast", "distance"):
        assert bad.measure(name).standing == "worse than random"
    assert bad.measure("head loss").value > 3 * bad.measure("head loss").usual
    assert bad.class_balance[0] == 0
    assert any("No example of 0, 1, 2, 4, 5, 6, 7, 8, 9 is kept." in note for note in bad.notes)
    assert any("Clearly worse than random subsets" in note for note in bad.notes)


def test_class_shares_are_those_of_the_weights(digits):
    kept = [int(np.flatnonzero(digits.labels == label)[0]) for label in (0, 1, 2)]
    found = wn.audit({"index": kept, "weight": [6.0, 3.0, 1.0]}, digits, embeddings="raw", draws=0)
    assert [one.weight for one in found.classes[:4]] == pytest.approx([0.6, 0.3, 0.1, 0.0])
    assert [one.kept for one in found.classes[:4]] == [1, 1, 1, 0]
    assert found.effective_size == pytest.approx(100 / 46)


def test_random_subsets_are_like_random(digits):
    draw = np.random.default_rng(0)
    words = [
        one.standing
        for _ in range(6)
        for one in wn.audit(draw.permutation(300)[:90], digits, embeddings="raw", draws=10).measures
    ]
    assert len(words) == 36
    assert words.count("like random") >= 33  # 1 in 100 may fall out of the band


def test_a_band_holds_99_of_100_further_draws():
    draw = np.random.default_rng(0)
    for draws in (3, 10):
        values = draw.normal(size=(4000, draws + 1))
        apart = [abs(Measure("", "", row[0], tuple(row[1:])).apart) for row in values]
        assert np.mean(np.array(apart) > ordinary(draws)) == pytest.approx(0.01, abs=0.005)
    assert Measure("", "", 2.0, (1.0, 1.0)).standing == ""
    assert Measure("", "", 2.0, (1.0, 1.1, 0.9), higher=True).standing == "like random"  # three draws say little
    assert Measure("", "", 99.0, (1.0, 1.1, 0.9), higher=True).standing == "better than random"
    assert Measure("", "", 99.0, (1.0, 1.1, 0.9)).standing == "worse than random"


def test_everything_that_a_training_shows(trained, digits):
    assert [one.name for one in trained.measures] == [
        "head change", "head loss", "forecast", "moment error", "distance", "far distance", "kernel coverage",
    ]  # fmt: skip
    assert trained.features == "features of mlp, trained on all data"
    assert "test data" in trained.measure("forecast").about
    assert 0.5 < trained.measure("forecast").value <= 1
    assert trained.measure("forecast").whole > 0.5
    assert (trained.size, trained.examples) == (100, 300)
    assert sum(one.kept for one in trained.classes) == 100
    assert sum(one.examples for one in trained.classes) == 300
    assert sum(one.weight for one in trained.classes) == pytest.approx(1)
    assert len(trained.deciles) == 10
    assert np.mean(trained.deciles) == pytest.approx(1 / 3, abs=0.01)
    assert set(trained.found) == {"duplicate"}  # three epochs are too few to judge labels


def test_order_does_not_matter(trained, digits):
    turned = digits.at(np.arange(300)[::-1])
    again = wn.audit(digits.ids[::3][::-1], turned, **HOW, test=wn.open("digits", split="test"))
    assert dataclasses.replace(again, provenance=trained.provenance) == trained


def test_difficulty_and_label_issues_come_from_given_signals_in_any_order(digits):
    labels = digits.labels.copy()
    flipped = np.flatnonzero(labels == 0)[:4]
    labels[flipped] = 6
    wrong = digits.with_labels(labels, "classification", digits.classes)
    want = ("dynamics", "predictions")
    signals = wn.observe(wrong, "mlp", wn.Recipe(epochs=12, batch=32), 1, want)
    hardest = wn.select("rank", wn.score("difficulty", signals), keep=0.3, balance=0)
    turned = signals.take(signals.ids[::-1])
    found = [wn.audit(hardest, wrong, signals=one, embeddings="raw", draws=2) for one in (signals, turned)]
    assert found[0].deciles[:6] == (0.0,) * 6
    assert found[0].deciles[8:] == (1.0, 1.0)
    assert any("prefers hard" in note for note in found[0].notes)
    named = {one.id for one in found[0].issues if one.kind == "label"}
    assert len(named & set(digits.ids[flipped].tolist())) >= 3
    assert any("looks like 0" in one.evidence for one in found[0].issues)
    assert found[1].issues == found[0].issues
    assert found[1].deciles == found[0].deciles


def test_copies_inside_are_counted():
    source = wn.open("digits", limit=60)
    pixels = source.read(np.arange(60))
    doubled = wn.open((np.concatenate([pixels, pixels[:5]]), np.concatenate([source.labels, source.labels[:5]])))
    found = wn.audit(range(60, 65), doubled, embeddings="raw", draws=2)
    assert found.found["duplicate"] == 0
    found = wn.audit([0, 60, 1, 61, 7], doubled, embeddings="raw", draws=2)
    assert found.found["duplicate"] == 2
    assert any("2 near-duplicates" in note for note in found.notes)


def test_regression_and_unlabelled_data():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 4))
    numbers = wn.audit(range(30), (x, x @ [1.0, 2.0, 0.0, 0.0] + 0.5), draws=3)
    assert [one.name for one in numbers.measures] == [
        "head change", "head loss", "moment error", "distance", "far distance",
    ]  # fmt: skip
    assert numbers.classes == ()
    nothing = wn.audit(range(30), x, draws=3)
    assert [one.name for one in nothing.measures] == ["moment error", "distance", "far distance"]
    assert "class balance" not in str(nothing)


def test_saved_loaded_and_resumed(digits, tmp_path):
    how = {**HOW, "out": tmp_path / "run"}
    first = wn.audit(digits.ids[:50], digits, **how)
    assert json.loads((tmp_path / "run" / "audit.json").read_text())["size"] == 50
    assert Audit.load(tmp_path / "run" / "audit.json") == first
    assert (tmp_path / "run" / "audit.html").read_text().startswith("<!doctype html>")
    records = {path: path.stat().st_mtime_ns for path in (tmp_path / "run" / "steps").rglob("*.json")}
    assert wn.audit(digits.ids[:50], digits, **how) == first
    again = {path: path.stat().st_mtime_ns for path in (tmp_path / "run" / "steps").rglob("*.json")}
    assert again == records  # nothing was made again
    assert list(first.to_pandas()["name"]) == [one.name for one in first.measures]
    about = first.certificate
    assert about["size"] == 50
    assert about["head change"]["value"] == first.measure("head change").value
    assert "inside: " in str(first)
    assert "head change" in str(first)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"draws": -1}, "draws of audit"),
        ({"embeddings": np.zeros((5, 2))}, "embeddings of audit must have 300 rows"),
        ({"embeddings": "raw", "test": "digits"}, "test of audit needs a network"),
        ({"signals": "el2n"}, "signals of audit must be Signals"),
        ({"model": "lenet6"}, "lenet6"),
    ],
)
def test_refused(digits, how, words):
    with pytest.raises(WinnowError, match=words):
        wn.audit(digits.ids[:20], digits, **how)


def test_signals_without_embeddings_are_refused_as_embeddings(digits):
    rec = wn.Recorder(300, 10, ids=digits.ids)
    rec.log(np.arange(300), np.zeros((300, 10), dtype=np.float32), digits.labels)
    rec.end_epoch()
    with pytest.raises(InputError, match="with embeddings"):
        wn.audit(digits.ids[:20], digits, embeddings=rec.signals())
