"""The five artefacts: checked when built, frozen, the same after saving and loading, blind to order."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest

from winnow.artefacts import Outcome, Scores, Signals, Source, Study, Subset, difference, mean
from winnow.artefacts.source import content_ids
from winnow.artefacts.study import Arm
from winnow.core.errors import InputError, NotDefinedError, StoreError, WinnowError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 3)).astype(np.float32)
Y = np.array([0, 1, 2, 0, 1, 2])
NAMES = ("ant", "bee", "cow")


def source(order=None, ids=None, **changes) -> Source:
    order = np.arange(6) if order is None else np.asarray(order)
    names = np.array(list("fedcba")) if ids is None else np.asarray(ids)
    given = {
        "name": "toy",
        "read": lambda where: X[order][where],
        "size": 6,
        "shape": (3,),
        "kind": "table",
        "task": "classification",
        "labels": Y[order],
        "classes": NAMES,
        "make_ids": names[order],
    }
    return Source(**{**given, **changes})


def signals(ids=tuple("fedcba"), **changes) -> Signals:
    arrays = {"logits": RNG.normal(size=(2, 4, 6, 3)).astype(np.float32), "embeddings": X}
    given = {
        "ids": np.array(ids),
        "arrays": arrays,
        "task": "classification",
        "labels": Y,
        "classes": NAMES,
        "epochs": (1, 2, 3, 4),
        "planned_epochs": 4,
        "provenance": {"step": "test"},
    }
    return Signals(**{**given, **changes})


def study() -> Study:
    arms = (
        Arm("full", "full", 100, 1.0),
        Arm("random@0.5", "random", 50, 0.5),
        Arm("el2n@0.5", "subset", 50, 0.5, "random@0.5", 0.9, {"observe": 2.0, "score": 0.5}, {"size": 50}),
    )
    base = {"full": 0.9, "random@0.5": 0.8, "el2n@0.5": 0.85}
    outcomes = tuple(
        Outcome(arm.name, seed, "test", base[arm.name] + 0.01 * seed, 0.3, (1.0, 0.5, math.nan), 10, 1.5)
        for arm in arms
        for seed in range(3)
    )
    return Study("accuracy", arms, outcomes, ("test",), NAMES, 0.0, {"step": "evaluate"})


def test_examples_are_fetched_by_id_in_the_order_asked() -> None:
    src = source()
    np.testing.assert_array_equal(src.fetch(["a", "f"]), X[[5, 0]])
    np.testing.assert_array_equal(src.fetch("c"), X[[3]])
    np.testing.assert_array_equal(src.take(["b", "e"]).fetch(["e"]), X[[1]])
    np.testing.assert_array_equal(src.take(["b", "e"]).labels, Y[[4, 1]])
    x, y = src[-1]
    np.testing.assert_array_equal(x, X[5])
    assert y == 2
    with pytest.raises(IndexError):
        src[6]


def test_shuffling_changes_neither_fingerprint_nor_examples() -> None:
    src, shuffled = source(), source(order=[3, 1, 5, 0, 2, 4])
    assert src.fingerprint == shuffled.fingerprint
    np.testing.assert_array_equal(src.fetch(list("abc")), shuffled.fetch(list("abc")))
    assert source(labels=Y[::-1].copy()).fingerprint != src.fingerprint


def test_ids_are_computed_only_when_asked() -> None:
    asked = []

    def make() -> list[str]:
        asked.append(1)
        return list("fedcba")

    src = source(make_ids=make)
    assert len(src) == 6
    assert asked == []
    assert src.ids[0] == "f"
    assert src.ids[5] == "a"
    assert asked == [1]


def test_classes_follow_the_training_data() -> None:
    part = source(labels=np.array([0, 1, 0, 1, 0, 1]), classes=("cow", "ant"))
    np.testing.assert_array_equal(part.with_classes(NAMES).labels, [2, 0, 2, 0, 2, 0])
    with pytest.raises(InputError, match="has the class 'ant'"):
        part.with_classes(("bee", "cow"))


def test_content_names_examples_whatever_their_order() -> None:
    rows = [b"one", b"two", b"one", b"three", b"one"]
    labels = np.array([2, 0, 1, 0, 2])
    ids = content_ids(rows, labels)
    assert len(set(ids)) == 5
    order = np.array([4, 2, 0, 3, 1])
    again = content_ids([rows[i] for i in order], labels[order])
    by_label = {(rows[i], labels[i]): set() for i in range(5)}
    for i, name in enumerate(ids):
        by_label[rows[i], labels[i]].add(name)
    for i, name in zip(order, again, strict=True):
        assert name in by_label[rows[i], labels[i]]
    assert set(content_ids(rows)) == set(ids)  # the label is no part of an id


@pytest.mark.parametrize(
    "build", [source, signals, study, lambda: Subset(np.arange(3)), lambda: Scores("s", np.arange(2), np.ones(2))]
)
def test_artefacts_are_frozen(build) -> None:
    made = build()
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(made, dataclasses.fields(made)[0].name, None)


@pytest.mark.parametrize("ids", [tuple("fedcba"), (5, 4, 3, 2, 1, 9)])
def test_signals_survive_saving(tmp_path: Path, ids) -> None:
    sig = signals(ids)
    back = Signals.load(sig.save(tmp_path / "s.safetensors"))
    assert back.fingerprint == sig.fingerprint
    np.testing.assert_array_equal(back.ids, sig.ids)
    np.testing.assert_array_equal(back.labels, Y)
    np.testing.assert_array_equal(back.logits, sig.logits)
    assert (back.task, back.classes, back.epochs, back.planned_epochs, back.provenance) == (
        sig.task, sig.classes, sig.epochs, 4, {"step": "test"})  # fmt: skip


def test_signals_are_taken_merged_and_stacked_by_id() -> None:
    sig = signals()
    order = sig.canonical()
    assert order.ids.tolist() == list("abcdef")
    np.testing.assert_array_equal(order.logits[:, :, 0], sig.logits[:, :, 5])
    assert order.fingerprint == sig.fingerprint
    other = signals(arrays={"gradient_norms": np.ones((2, 6))}, epochs=(), planned_epochs=0)
    both = other.merge(order)
    assert set(both.arrays) == {"gradient_norms", "logits", "embeddings"}
    assert both.epochs == (1, 2, 3, 4)
    np.testing.assert_array_equal(both.take(list("abcdef")).logits, order.logits)
    stacked = Signals.stack([sig, order], {})
    assert stacked.logits.shape == (4, 4, 6, 3)
    np.testing.assert_array_equal(stacked.logits[2:], sig.logits)
    np.testing.assert_array_equal(sig.only_seeds([1]).logits[0], sig.logits[1])


def test_a_missing_array_says_how_to_get_it() -> None:
    with pytest.raises(NotDefinedError, match=r"score 'grand' needs gradient_norms; .* want=\('gradient_norms',\)"):
        signals().array("gradient_norms", "score 'grand'")


def test_scores_and_subsets_survive_saving(tmp_path: Path) -> None:
    sco = Scores("el2n", np.array(list("cab")), np.array([3.0, 1.0, 2.0]), 0.9, "classification", np.array([0, 1, 0]),
                 ("x", "y"), {"step": "score"})  # fmt: skip
    back = Scores.load(sco.save(tmp_path / "a.parquet"))
    assert back.fingerprint == sco.fingerprint
    assert (back.name, back.reliability, back.task, back.classes) == ("el2n", 0.9, "classification", ("x", "y"))
    np.testing.assert_array_equal(back.labels, [0, 1, 0])
    np.testing.assert_array_equal(sco.take(["b", "c"]).values, [2.0, 3.0])
    sub = Subset(np.array(list("cab")), np.array([3.0, 1.0, 2.0]), {"loss": 0.1}, {"step": "select"})
    again = Subset.load(sub.save(tmp_path / "b.parquet"))
    assert again.ids.tolist() == list("abc")
    assert again.weights.tolist() == [1.0, 2.0, 3.0]
    assert again.certificate == {"loss": 0.1}
    assert again.fingerprint == sub.fingerprint


def test_equal_subsets_are_equal_files(tmp_path: Path) -> None:
    one = Subset(np.array(list("cab"))).save(tmp_path / "one.parquet")
    two = Subset(np.array(list("bca"))).save(tmp_path / "two.parquet")
    assert one.read_bytes() == two.read_bytes()


def test_a_study_survives_saving_and_prints(tmp_path: Path) -> None:
    stu = study()
    back = Study.load(stu.save(tmp_path / "study"))
    assert back.arms == stu.arms
    assert [dataclasses.replace(o, per_class=()) for o in back.outcomes] == [
        dataclasses.replace(o, per_class=()) for o in stu.outcomes]  # fmt: skip
    rows = {row["arm"]: row for row in back.table()}
    assert rows["el2n@0.5"]["vs_random"] == pytest.approx(0.05)
    assert rows["el2n@0.5"]["vs_full"] == pytest.approx(-0.05)
    assert rows["el2n@0.5"]["worst_class"] == 0.5
    assert rows["el2n@0.5"]["selection_s"] == 2.5
    assert math.isnan(rows["full"]["vs_full"])
    assert "el2n@0.5" in str(back.table())
    short = {row["arm"]: row for row in back.summary()}
    assert short["el2n@0.5"]["accuracy, %"] == "86.0 ± 2.5"
    assert short["el2n@0.5"]["against random"] == "+5.0 ± 0.0"
    assert short["full"]["against full"] == ""
    assert back.table().markdown().count("\n") == 4
    assert str(back.table()) == repr(back.table()) == str(back.summary())
    assert back.table()._repr_html_() == back.summary()._repr_html_()
    assert set(back.summary()[0]) != set(back.table()[0]) >= {"fraction", "low", "high"}


def test_a_study_pairs_by_seed() -> None:
    gap = study().versus("el2n@0.5", "random@0.5")
    assert gap.centre == pytest.approx(0.05)
    assert gap.half_width == pytest.approx(0, abs=1e-12)  # the common part of each seed cancels
    assert study().interval("full").half_width > 0.02


def test_intervals_are_students() -> None:
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(2000):
        found = mean(rng.normal(1.0, 2.0, 4))
        covered += found.low < 1.0 < found.high
    assert covered / 2000 == pytest.approx(0.95, abs=0.02)
    assert math.isnan(mean([0.5]).low)
    assert not mean([0.5]).excludes_zero
    assert difference([2.0, 3.0], [1.0, 2.0]).centre == 1.0


def test_a_sampler_is_seeded_resumable_and_weighted() -> None:
    sub = Subset(np.arange(50))
    assert list(sub.sampler(1)) == list(sub.sampler(1))
    assert list(sub.sampler(1)) != list(sub.sampler(2))
    assert sorted(sub.sampler(1)) == list(range(50))
    first = sub.sampler(3)
    head = [next(walk) for walk in [iter(first)] for _ in range(20)]
    resumed = sub.sampler(0)
    resumed.load_state_dict(first.state_dict())
    assert head + list(resumed) == list(sub.sampler(3))
    second_epoch = list(resumed)
    assert sorted(second_epoch) == list(range(50))
    assert second_epoch != list(sub.sampler(3))
    heavy = Subset(np.arange(2), np.array([1.0, 9.0])).sampler(0)
    drawn = np.concatenate([list(heavy) for _ in range(500)])
    assert drawn.mean() == pytest.approx(0.9, abs=0.03)


def test_a_subset_reaches_into_torch() -> None:
    src = source()
    sub = Subset(np.array(["a", "c"]))
    np.testing.assert_array_equal(sub.indices(src), [5, 3])
    got = sub.to_torch(src)
    np.testing.assert_array_equal(got[1][0], X[3])
    assert len(sub.to_torch(list(range(6)), source=src)) == 2
    assert list(Subset(np.array([2, 4])).to_torch(list("uvwxyz"))) == ["w", "y"]


REFUSED = [
    ("labels missing", lambda: source(labels=None), "labels of source 'toy' are missing"),
    ("labels without a task", lambda: source(task="unlabelled"), "must be None for an unlabelled task"),
    ("a label out of range", lambda: source(labels=np.array([0, 1, 2, 3, 0, 1])), "from 0 to 2; got 3"),
    ("too few ids", lambda: source(make_ids=np.arange(5)).ids, "must have 6 entries; got 5"),
    ("an unknown id", lambda: source().fetch(["zz"]), "no example with id zz (1 of 1 ids are unknown)"),
    ("a position for an id", lambda: source().fetch([0]), "look like"),
    ("an unknown array", lambda: signals(arrays={"vibes": X}), "know no array 'vibes'"),
    ("no array", lambda: signals(arrays={}), "at least one array"),
    ("a wrong shape", lambda: signals(arrays={"embeddings": X[:4]}), "6 examples on axis 0; got shape (4, 3)"),
    ("a NaN in signals", lambda: signals(arrays={"embeddings": np.full((6, 2), np.nan)}), "must be finite"),
    ("epochs that do not fit", lambda: signals(epochs=(1, 2)), "has 4 epochs but epochs names 2"),
    ("a NaN score", lambda: Scores("s", np.arange(2), np.array([0.0, np.nan])), "values of scores 's' must be finite"),
    ("an empty subset", lambda: Subset(np.array([], dtype=int)), "non-empty vector"),
    ("a subset of strings in torch", lambda: Subset(np.array(["a"])).to_torch([1, 2]), "needs source="),
    ("a position beyond a dataset", lambda: Subset(np.array([7])).to_torch([1, 2]), "names position 7"),
    ("a dataset of another length", lambda: Subset(np.array(["a"])).to_torch([1], source=source()), "must have the 6"),
    ("an unknown arm", lambda: study().arm("magic"), "no arm 'magic'"),
    ("signals merged across ids", lambda: signals().merge(signals(ids=tuple("ghijkl"))), "they have the same ids"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "fragment"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_refusals(call, fragment: str) -> None:
    with pytest.raises(WinnowError) as caught:
        call()
    assert fragment in str(caught.value)


@pytest.mark.parametrize("kind", [Signals, Scores, Subset])
def test_a_foreign_or_damaged_file_is_refused(tmp_path: Path, kind) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(b"not ours at all")
    with pytest.raises(StoreError, match=r"x\.bin"):
        kind.load(path)
    with pytest.raises(StoreError, match="missing"):
        kind.load(tmp_path / "missing.parquet")


def test_one_kind_is_not_another(tmp_path: Path) -> None:
    path = Subset(np.arange(3)).save(tmp_path / "s.parquet")
    with pytest.raises(StoreError, match=r"expected 'scores' in .*s\.parquet; found 'subset'\."):
        Scores.load(path)


def test_a_peek_does_not_shorten_the_next_epoch() -> None:
    sampler = Subset(np.arange(10)).sampler(0)
    walk = iter(sampler)
    seen = [next(walk) for _ in range(3)]
    assert len(list(sampler)) == 10
    assert seen == list(Subset(np.arange(10)).sampler(0))[:3]


def test_whole_number_ids_are_positions_only_if_nobody_gave_them_a_meaning() -> None:
    origin = {"inputs": {"source": {"origin": {"ids": "given"}}}}
    with pytest.raises(InputError, match=r"needs source= .* come from given"):
        Subset(np.array([3, 2]), provenance=origin).to_torch(list(range(4)))
    positions = {"inputs": {"source": {"origin": {"ids": "positions"}}}}
    assert list(Subset(np.array([3, 2]), provenance=positions).to_torch(list("abcd"))) == ["c", "d"]


def test_nobody_can_write_into_an_artefact() -> None:
    values = np.array([1.0, 2.0])
    sco = Scores("s", np.arange(2), values)
    values[0] = np.nan
    assert sco.values[0] == 1.0
    for array in (sco.values, sco.ids, signals().logits, source().labels, source().ids, Subset(np.arange(3)).weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_artefacts_say_what_they_are_in_a_line() -> None:
    for made in (source(), signals(), study(), Subset(np.arange(3)), Scores("s", np.arange(2), np.ones(2))):
        assert len(repr(made)) < 200
        assert "\n" not in repr(made)


def test_two_runs_that_agree_by_chance_claim_nothing() -> None:
    assert not difference([0.9, 0.9], [0.8, 0.8]).excludes_zero
    assert difference([0.9, 0.91, 0.92], [0.8, 0.8, 0.8]).excludes_zero


def test_a_half_saved_study_is_not_taken_for_a_whole_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = study().save(tmp_path / "study")
    monkeypatch.setattr("winnow.core.layouts.write_json", lambda *_: (_ for _ in ()).throw(OSError("full disk")))
    with pytest.raises(OSError, match="full disk"):
        study().save(where)
    with pytest.raises(StoreError, match=r"study\.json"):
        Study.load(where)
