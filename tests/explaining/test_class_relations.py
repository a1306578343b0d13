"""Explaining a data set: right by the kernel's own functions and by slow twins, for any order, saved and read again."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

import winnow as wn
from winnow.artefacts.explanation import DatasetExplanation, Explanation
from winnow.artefacts.finding import FEWEST_JUDGED
from winnow.core.errors import InputError, StoreError
from winnow.engines import Local
from winnow.explaining import class_relations as relating
from winnow.explaining import trained_once
from winnow.explaining.class_relations import Examples, drawn_by_class, relate, relate_run
from winnow.explaining.doubted_labels import DoubtedLabels, witness
from winnow.methods.lpntk import FeatureRows, neighbours, relations
from winnow.pruning.proof import prune_with_proof
from winnow.report.pictures import make_gallery
from winnow.sources.holdout import sample

RECIPE = wn.Recipe(epochs=4, batch=32)
HOW = {"model": "mlp", "recipe": RECIPE}
ABOUT = {"source": "made up", "model": "none", "examples": 90}


@pytest.fixture(scope="module")
def among() -> Examples:
    """Three classes of thirty around directions of their own, with three labels moved."""
    rng = np.random.default_rng(5)
    true = np.arange(90) % 3
    rows = 2.0 * np.eye(3, 12)[true] + 0.25 * rng.normal(size=(90, 12))
    labels = true.copy()
    labels[[4, 31, 62]] = (true[[4, 31, 62]] + 1) % 3
    return Examples(FeatureRows(rows), labels, np.array([f"e{i:02d}" for i in range(90)]), ("ape", "bee", "cat"))


@pytest.fixture(scope="module")
def doubts() -> DoubtedLabels:
    """The three moved labels are doubted, and their true class is the likely one."""
    sure = np.full(90, 0.1)
    sure[[4, 31, 62]] = 0.7, 0.9, 0.6
    return DoubtedLabels(sure, np.arange(90) % 3)


@pytest.fixture(scope="module")
def found(among: Examples, doubts: DoubtedLabels) -> DatasetExplanation:
    return relate(among, ABOUT, k=4, errors=5, seed=0, doubts=doubts, shown=np.array([7]))


def test_classes_are_compared_pair_by_pair(among: Examples, found: DatasetExplanation) -> None:
    rows = among.kernel.values
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    table = relations(among.kernel, among.labels)
    for pair in found.relations:
        a, b = among.classes.index(pair.one), among.classes.index(pair.other)
        cosines = [
            unit[i] @ unit[j]
            for i in np.flatnonzero(among.labels == a)
            for j in np.flatnonzero(among.labels == b)
            if a != b or i < j
        ]
        assert pair.pairs == len(cosines)
        assert pair.cosine == pytest.approx(np.mean(cosines))
        assert pair.interchangeable == table.between("interchangeable")[a, b]
        assert pair.contradictory == table.between("contradictory")[a, b]
    assert [(pair.one, pair.other) for pair in found.within] == [(name, name) for name in among.classes]
    assert len(found.between) == 3
    strength = [(pair.interchangeable + pair.contradictory) / pair.pairs for pair in found.between]
    assert strength == sorted(strength, reverse=True)
    assert sum(pair.pairs for pair in found.relations) == found.pairs == 90 * 89 // 2


def test_a_gram_matrix_says_the_same(among: Examples, doubts: DoubtedLabels, found: DatasetExplanation) -> None:
    rows = among.kernel.values
    whole = relate(
        dataclasses.replace(among, kernel=rows @ rows.T),
        ABOUT,
        k=4,
        errors=5,
        seed=0,
        doubts=doubts,
        shown=np.array([7]),
    )
    assert [one.witness for one in whole.errors] == [one.witness for one in found.errors]
    assert [pair.cosine for pair in whole.relations] == pytest.approx([pair.cosine for pair in found.relations])
    assert [one.id for one in whole.errors] == [one.id for one in found.errors]


def test_moved_labels_are_found_with_their_class_and_witness(among: Examples, found: DatasetExplanation) -> None:
    assert [(one.id, one.score, one.bound) for one in found.errors] == [
        ("e31", 0.9, 0.5), ("e04", 0.7, 0.5), ("e62", 0.6, 0.5)
    ]  # fmt: skip
    assert found.wrong == 3
    rows = among.kernel.values / np.linalg.norm(among.kernel.values, axis=1, keepdims=True)
    for one in found.errors:
        i = among.ids.tolist().index(one.id)
        assert one.suggested == among.classes[i % 3]
        near = [(abs(rows[i] @ rows[j]), among.ids[j]) for j in range(90) if among.labels[j] == i % 3]
        assert one.witness == max(near)[1]
    alone = dataclasses.replace(among, labels=np.where(among.labels == 2, 1, among.labels))
    assert witness(alone, 4, 2) is None


def test_without_a_recording_labels_are_not_judged(among: Examples) -> None:
    found = relate(among, ABOUT, k=4, errors=5, seed=0, shown=np.array([7]))
    assert (found.wrong, found.errors) == (None, ())
    assert "Labels were not judged" in str(found)


def test_doubts_follow_the_training_and_spare_small_classes() -> None:
    source = wn.open("digits", limit=200)
    labels = source.labels.copy()
    labels[3] = (labels[3] + 1) % 10
    labels[:2] = 10
    wrong = source.with_labels(labels, "classification", (*source.classes, "rare"))
    signals = wn.observe(wrong, "mlp", wn.Recipe(epochs=40), 1, ("dynamics", "predictions"), engine=Local(workers=1))
    doubts = DoubtedLabels.of(signals, wrong.ids)
    assert doubts is not None
    np.testing.assert_allclose(doubts.probability[2:], wn.score("mislabelled", signals).take(wrong.ids[2:]).values)
    assert np.isnan(doubts.probability[:2]).all()
    assert FEWEST_JUDGED > 2
    assert 3 in doubts.wrong
    assert doubts.likely[3] == source.labels[3]
    assert doubts.rank(int(doubts.wrong[0])) == 1
    bare = dataclasses.replace(signals, arrays={"losses": signals.losses})
    assert DoubtedLabels.of(bare, wrong.ids) is None


def test_a_training_that_learned_too_little_judges_no_label() -> None:
    source = wn.open("digits", limit=200)
    recipe = wn.Recipe(epochs=1, lr=1e-6)
    signals = wn.observe(source, "mlp", recipe, 1, ("dynamics", "predictions"), engine=Local(workers=1))
    assert DoubtedLabels.of(signals, source.ids) is None


def test_partners_are_those_of_neighbours(among: Examples, found: DatasetExplanation) -> None:
    assert {one.id for one in found.standings} == {"e04", "e07", "e31", "e62"}
    for one in found.standings:
        near = neighbours(among.kernel, among.ids.tolist().index(one.id), 4)
        assert [p.id for p in one.same_way] == among.ids[near.interchangeable.positions].tolist()
        assert [p.cosine for p in one.same_way] == pytest.approx(near.interchangeable.cosine.tolist())
        weaker = np.maximum(near.contradictory.own, near.contradictory.other)  # both negative
        assert [p.id for p in one.against] == among.ids[near.contradictory.positions[weaker < -0.05]].tolist()
        assert one.stand_in is None


def test_what_was_removed_has_the_nearest_kept_one_of_its_class(among: Examples) -> None:
    kept = np.arange(90) % 2 == 0
    found = relate(among, ABOUT, k=2, errors=1, seed=0, shown=np.array([9, 10]), kept=kept)
    removed, stayed = (next(one for one in found.standings if one.id == id) for id in ("e09", "e10"))
    rows = among.kernel.values
    cosine = rows @ rows[9] / np.linalg.norm(rows, axis=1) / np.linalg.norm(rows[9])
    cosine[(among.labels != among.labels[9]) | ~kept] = -2
    assert removed.stand_in is not None
    assert removed.stand_in.id == among.ids[cosine.argmax()]
    assert removed.stand_in.cosine == pytest.approx(cosine.max())
    assert stayed.stand_in is None


def test_large_data_is_sampled_and_says_so(
    among: Examples, doubts: DoubtedLabels, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relating, "COUNTED", 30)
    found = relate(among, ABOUT, k=2, errors=3, seed=0, doubts=doubts)
    assert (found.compared, found.judged, found.pairs) == (30, 90, 30 * 29 // 2)
    assert "Pairs were counted among 30 examples" in str(found)
    assert found.wrong == 3
    labels = np.repeat([0, 1], [90, 10])
    where = drawn_by_class(labels, 20, 3)
    assert np.bincount(labels[where]).tolist() == [18, 2]
    assert (np.diff(where) > 0).all()
    assert drawn_by_class(labels, 100, 3).tolist() == list(range(100))


def test_words_are_readable_at_three_and_at_forty_classes(among: Examples, found: DatasetExplanation) -> None:
    text = str(found)
    assert "Mean cosine between classes:" in text
    assert "Label issues (3 of 90 labels look wrong):" in text
    assert all(one.id in text and str(one.witness) in text for one in found.errors)
    assert "With 3 classes, one input under two labels has a cosine of about -0.33" in text
    assert max(len(line) for line in text.splitlines()[1:] if not line.startswith("With 3 classes")) < 100
    rng = np.random.default_rng(0)
    many = Examples(
        FeatureRows(rng.normal(size=(160, 8))), np.arange(160) % 40, np.arange(160), tuple(f"c{i}" for i in range(40))
    )
    text = str(relate(many, ABOUT, k=2, errors=3, seed=0))
    assert "The 20 strongest pairs of classes:" in text
    assert "The 10 least cohesive classes:" in text
    assert len(text.splitlines()) < 50


def test_it_is_saved_and_read_again(found: DatasetExplanation, tmp_path: Path) -> None:
    assert DatasetExplanation.load(found.save(tmp_path / "a.json")) == found
    with pytest.raises(StoreError, match=r"expected 'explanation' in .*; found 'explanation of a data set'"):
        Explanation.load(tmp_path / "a.json")
    (tmp_path / "b.json").write_text('{"winnow": "explanation of a data set", "classes": []}')
    with pytest.raises(StoreError, match="found no entry 'source'"):
        DatasetExplanation.load(tmp_path / "b.json")


def test_a_data_set_is_explained_for_any_order() -> None:
    source = wn.open("digits", limit=200)
    found = wn.explain(source, **HOW, errors=3)
    assert isinstance(found, DatasetExplanation)
    assert (found.examples, found.judged, found.compared, found.exact) == (200, 200, 200, True)
    turned = wn.explain(source.at(np.arange(200)[::-1]), **HOW, errors=3)
    assert dataclasses.replace(turned, provenance=found.provenance) == found
    with pytest.raises(InputError, match="errors of explain"):
        wn.explain(source, **HOW, errors=0)
    with pytest.raises(InputError, match="limit of explain"):
        wn.explain(source, **HOW, limit=1)


def test_a_run_trains_once_for_the_data_set_and_every_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = wn.open("digits", limit=150)
    alone = wn.explain(source, source.ids[3], **HOW)
    trained = []
    real = trained_once.train
    monkeypatch.setattr(trained_once, "train", lambda *given, **more: trained.append(1) or real(*given, **more))
    first = wn.explain(source, **HOW, out=tmp_path / "run")
    assert wn.explain(source, **HOW, out=tmp_path / "run") == first
    one = wn.explain(source, source.ids[3], **HOW, out=tmp_path / "run")
    assert len(trained) == 1
    assert one == alone
    pages = sorted(path.name for path in (tmp_path / "run").glob("*.html"))
    assert pages == [f"example-{source.ids[3]}.html", "explanation.html"]
    text = (tmp_path / "run" / pages[0]).read_text()
    assert all(str(partner.id) in text for partner in one.same_way)
    assert text.count("<img") >= 1 + len(one.same_way)
    again = wn.explain(source, **HOW, out=tmp_path / "run", k=2)  # another length of lists: no training either
    assert (len(trained), again.relations) == (1, first.relations)
    with pytest.raises(StoreError, match="other settings"):
        wn.explain(source, **HOW, seed=1, out=tmp_path / "run")


def test_what_is_near_zero_is_in_neither_list() -> None:
    rows = np.array([[1.0, 0.0], [0.04, 1.0], [0.9, 0.1], [-0.04, 1.0], [-0.06, 1.0], [-1.0, 0.1]])
    among = Examples(FeatureRows(rows), np.arange(6) % 2, np.arange(6), ("no", "yes"))
    (standing,) = relate(among, ABOUT, k=6, errors=1, seed=0, shown=np.array([0])).standings
    assert [p.id for p in standing.same_way] == [2]
    assert [p.id for p in standing.against] == [5, 4]


def test_two_classes_are_against_each_other_by_construction() -> None:
    rng = np.random.default_rng(2)
    labels = np.arange(40) % 2
    net = torch.nn.Linear(3, 2)
    kernel = wn.lpntk.gram(net, rng.uniform(0.9, 1.0, (40, 3)).astype(np.float32), labels)
    found = relate(Examples(kernel, labels, np.arange(40), ("no", "yes")), ABOUT, k=2, errors=3, seed=0)
    (between,) = found.between
    assert between.contradictory == between.pairs  # inputs alike, so under one label they would be interchangeable
    assert "With 2 classes this is by construction" in str(found)
    assert "seldom" not in str(found)


def test_an_example_outside_the_draw_has_a_network_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = wn.open("digits", limit=150)
    drawn = sample(source, 60, 0).ids
    outside = [id for id in source.ids if id not in set(drawn)][:2]
    trained = []
    real = trained_once.train
    monkeypatch.setattr(trained_once, "train", lambda *given, **more: trained.append(1) or real(*given, **more))
    given = {**HOW, "limit": 60, "out": tmp_path / "run"}
    asked = (None, outside[0], drawn[0], drawn[1], outside[1], drawn[2])
    assert [wn.explain(source, id, **given).examples for id in asked] == [60, 61, 60, 60, 61, 60]
    assert len(trained) == 3  # the draw, and each of the two with it
    for id in (None, *outside):
        wn.explain(source, id, **given, k=2)
    assert len(trained) == 3
    assert len(list((tmp_path / "run" / "networks").glob("*.safetensors"))) == 3


@pytest.mark.filterwarnings("ignore:score .* is unreliable here")
def test_the_report_of_a_pruning_by_lpntk_has_the_section(tmp_path: Path) -> None:
    source = wn.open("digits", limit=200)
    how = {"model": "mlp", "recipe": wn.Recipe(epochs=2, batch=32), "seeds": 2, "proof_seeds": 2}
    proof = prune_with_proof(source, 0.5, method="lpntk_redundancy", out=tmp_path, engine=Local(workers=1), **how)
    found = DatasetExplanation.load(tmp_path / "relations.json")
    assert found.examples == 160
    assert any(one.stand_in is not None for one in found.standings)
    assert proof.report == tmp_path / "report.html"
    page = proof.report.read_text()
    assert '<section id="teaching">' in page
    assert "How examples teach each other" in page
    assert "Stands in for it" in page


def test_a_run_of_lpntk_says_what_its_report_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    source = wn.open("digits", limit=120)
    signals = wn.observe(source, "mlp", RECIPE, 2, ("lpntk",), engine=Local(workers=1))
    subset = wn.select("lpntk_redundancy", signals, keep=0.5)
    gallery = make_gallery(source, None, subset, 3)
    found = relate_run(source, signals, subset, gallery, 0)
    shown = {item.id for items in gallery.sections.values() for item in items}
    standing = {one.id: one for one in found.standings}
    assert shown <= set(standing)
    kept = set(subset.ids.tolist())
    for item in gallery.sections["dropped"]:
        near = standing[item.id].stand_in
        assert near is not None
        assert near.id in kept
        assert near.label == item.label
    monkeypatch.setattr(relating, "JUDGED", 60)
    less = relate_run(source, signals, subset, gallery, 0)
    assert 60 <= less.judged <= 66
    assert shown <= {one.id for one in less.standings}
    assert "Label issues and partners were searched among" in str(less)
