"""Soft labels as they are kept and saved, alone and as the targets of a subset."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import winnow as wn
from winnow.artefacts import SoftLabels, Subset
from winnow.core.errors import InputError, StoreError
from winnow.core.layouts import read_columns, write_columns

NUMBERS = np.array([30, 10, 40, 20])
TEXT = np.array(["d", "é", "a", "long name"])


def probabilities(n: int = 4, classes: int = 3, concentration: float = 1.0) -> NDArray[np.float64]:
    return np.random.default_rng(0).dirichlet(np.full(classes, concentration), n)


def labels(ids: Any = NUMBERS, classes: int = 3, **given: Any) -> SoftLabels:
    names = tuple(f"c{k}" for k in range(classes))
    return SoftLabels(ids, probabilities(len(ids), classes), names, **given)


@pytest.mark.parametrize("classes", [3, 100], ids=["few classes", "many classes"])
@pytest.mark.parametrize("ids", [NUMBERS, TEXT], ids=["numbers", "text"])
def test_a_subset_is_saved_with_its_targets(ids: NDArray[Any], classes: int, tmp_path: Path) -> None:
    soft = labels(ids, classes, weight=0.7, seconds=3.0, prior_seconds=2.0, provenance={"made": "by hand"})
    sub = Subset(ids[:3], weights=[1.0, 2.0, 3.0], targets=soft)
    again = Subset.load(sub.save(tmp_path / "one.parquet"))
    assert sub.targets is not None
    assert again.targets is not None
    assert again.targets.ids.tolist() == again.ids.tolist() == sorted(ids[:3].tolist())
    np.testing.assert_array_equal(again.targets.at(ids[:3]), soft.at(ids[:3]))
    kept = (again.targets.weight, again.targets.seconds, again.targets.prior_seconds, again.targets.classes)
    assert kept == (0.7, 3.0, 2.0, soft.classes)
    assert again.targets.provenance == {"made": "by hand"}
    assert again.fingerprint == sub.fingerprint
    again.save(tmp_path / "two.parquet")
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()


def test_a_subset_without_targets_is_the_same_file_and_fingerprint_as_before_there_were_any(tmp_path: Path) -> None:
    sub = Subset(TEXT, certificate={"kept": 4}, provenance={"made": "by hand"})
    about = {"winnow": "subset", "certificate": {"kept": 4}, "provenance": {"made": "by hand"}}
    write_columns(tmp_path / "old.parquet", {"id": sub.ids, "weight": sub.weights}, about)
    sub.save(tmp_path / "new.parquet")
    assert (tmp_path / "new.parquet").read_bytes() == (tmp_path / "old.parquet").read_bytes()
    old = Subset.load(tmp_path / "old.parquet")
    assert old.targets is None
    assert old.fingerprint == sub.fingerprint == "5aa1e6c0e306e6fe1daab1148a9403fd"
    assert repr(old) == "Subset(4 examples)"


def test_soft_labels_saved_before_they_had_a_weight_are_read(tmp_path: Path) -> None:
    about = {
        "winnow": "soft labels",
        "classes": ["c0", "c1"],
        "seconds": 1.0,
        "prior_seconds": 0.0,
        "provenance": {},
    }
    values = np.array([[0.3, 0.7], [0.5, 0.5]], dtype=np.float32)
    write_columns(tmp_path / "old.parquet", {"id": np.array([1, 2]), "p0": values[:, 0], "p1": values[:, 1]}, about)
    old = SoftLabels.load(tmp_path / "old.parquet")
    assert (old.weight, old.columns, old.seconds) == (1.0, None, 1.0)
    np.testing.assert_allclose(old.at([1, 2]), values, atol=5e-4)
    assert "weight" not in read_columns(old.save(tmp_path / "new.parquet"), "soft labels")[0]


def test_targets_are_those_of_the_kept_examples() -> None:
    soft = labels()
    sub = Subset([40, 10], targets=soft)
    assert sub.targets is not None
    assert sub.targets.ids.tolist() == [10, 40]
    np.testing.assert_array_equal(sub.targets.at([40, 10]), soft.at([40, 10]))
    assert Subset([10, 40], targets=sub.targets).targets is sub.targets
    assert repr(sub) == "Subset(2 examples, soft targets)"
    assert "share of soft targets" in sub._repr_html_()
    assert repr(Subset([40, 10], [1.0, 2.0], targets=soft)) == "Subset(2 examples, weighted, soft targets)"


@pytest.mark.parametrize(
    ("ids", "targets", "sentence"),
    [
        (
            [10, 99],
            labels(),
            "targets of subset must have every kept example: SoftLabels has no example with id 99 (1 of 2 ids are "
            "unknown).",
        ),
        (
            ["a"],
            labels(),
            "targets of subset must have every kept example: ids of SoftLabels look like np.int64(30); got "
            "np.str_('a').",
        ),
        ([10], np.ones((1, 3)), "targets of subset must be SoftLabels; got ndarray."),
    ],
)
def test_targets_that_do_not_fit_are_refused_in_one_sentence(ids: Any, targets: Any, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        Subset(ids, targets=targets)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        ({"weight": 0.5}, "nothing that says what it is"),
        ({"winnow": "scores"}, "'scores'"),
        ({"winnow": "soft labels", "classes": ["a", "b"]}, "no entry 'seconds'"),
        (3, "a int where a mapping belongs"),
        (
            {"winnow": "soft labels", "classes": ["a", "b"], "seconds": 0.0, "prior_seconds": 0.0, "provenance": {}},
            "something else",
        ),
    ],
)
def test_damaged_targets_in_a_file_are_refused_in_one_sentence(entry: Any, found: str, tmp_path: Path) -> None:
    about = {"winnow": "subset", "certificate": {}, "provenance": {}, "targets": entry}
    write_columns(tmp_path / "bad.parquet", {"id": np.array([1]), "weight": np.ones(1)}, about)
    with pytest.raises(StoreError) as caught:
        Subset.load(tmp_path / "bad.parquet")
    assert str(caught.value).startswith(f"expected 'subset' in {tmp_path / 'bad.parquet'}; found {found}")


def test_targets_and_weight_are_in_the_fingerprint() -> None:
    soft = labels()
    plain, taught = Subset([10]), Subset([10], targets=soft)
    lighter = Subset([10], targets=replace(soft, weight=0.5))
    assert len({plain.fingerprint, taught.fingerprint, lighter.fingerprint}) == 3
    assert replace(soft, weight=1.0).fingerprint == soft.fingerprint
    assert repr(replace(soft, weight=0.5)) == "SoftLabels(4 examples, 3 classes, weight 0.5)"


def test_half_precision_is_close_and_rows_sum_to_one() -> None:
    given = probabilities(200, 64, 0.1)
    soft = SoftLabels(np.arange(200), given, tuple(map(str, range(64))))
    got = soft.at(np.arange(200))
    assert (soft.values.dtype, got.dtype) == (np.float16, np.float32)
    np.testing.assert_allclose(got, given, rtol=2**-10, atol=1e-7)
    np.testing.assert_allclose(got.sum(1, dtype=np.float64), 1, atol=1e-6)


@pytest.mark.parametrize("concentration", [0.01, 0.1, 1.0])
def test_of_many_classes_the_top_ones_are_kept_within_the_bound(concentration: float) -> None:
    given = probabilities(50, 200, concentration)
    soft = SoftLabels(np.arange(50), given, tuple(map(str, range(200))))
    got = soft.at(np.arange(50))
    assert soft.values.shape == (50, 16)
    assert soft.columns is not None
    left_out = np.sort(given, axis=1)[:, :-16].sum(1)
    assert (np.abs(got - given).sum(1) <= 2 * left_out + 1e-3).all()
    top = np.argsort(given, axis=1)[:, -16:]
    np.testing.assert_allclose(
        np.take_along_axis(got, top, 1), np.take_along_axis(given, top, 1), rtol=2**-10, atol=1e-4
    )
    np.testing.assert_allclose(got.sum(1, dtype=np.float64), 1, atol=1e-6)
    rest = np.sort(got, axis=1)[:, :-16]
    np.testing.assert_allclose(rest.max(1), rest.min(1))


def test_top_classes_can_be_given_and_follow_their_names() -> None:
    soft = SoftLabels([1, 2], [[0.5, 0.25], [1.0, 0.0]], ("a", "b", "c", "d"), columns=[[3, 0], [1, 2]])
    assert soft.at([1, 2]).tolist() == [[0.25, 0.125, 0.125, 0.5], [0.0, 1.0, 0.0, 0.0]]
    turned = soft.with_classes(["d", "c", "b", "a"])
    assert turned.at([1, 2]).tolist() == [[0.5, 0.125, 0.125, 0.25], [0.0, 0.0, 1.0, 0.0]]
    assert turned.with_classes(soft.classes).fingerprint == soft.fingerprint
    source = wn.open(([[0.0], [1.0]], ["d", "b"]), ids=[1, 2], classes=["a", "b", "c", "d"])
    assert soft.agreement(source) == turned.agreement(source) == 1.0
    assert soft.take([2]).at(2).tolist() == [0.0, 1.0, 0.0, 0.0]
    assert soft.to_pandas().columns.tolist() == ["id", "a", "b", "c", "d"]


def test_predictions_of_a_regression_keep_their_unit(tmp_path: Path) -> None:
    values = np.array([[250_000.0, -3.0], [1e6, 0.125]], dtype=np.float32)
    soft = SoftLabels(["a", "b"], values, (), weight=0.25)
    again = SoftLabels.load(soft.save(tmp_path / "soft.parquet"))
    assert again.at(["b", "a"]).tolist() == values[::-1].tolist()
    assert (again.classes, again.weight, again.fingerprint) == ((), 0.25, soft.fingerprint)
    assert repr(again) == "SoftLabels(2 examples, 2 outputs, weight 0.25)"
    assert again.to_pandas().columns.tolist() == ["id", "prediction_0", "prediction_1"]
    assert "outputs" in again._repr_html_()
    with pytest.raises(InputError, match=r"source of SoftLabels\.agreement"):
        again.agreement(wn.open(([[0.0], [1.0]], [0.5, 1.5]), ids=["a", "b"]))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"weight": 1.5}, "weight of SoftLabels must be a number in [0, 1]; got 1.5."),
        (
            {"values": [[0.9, 0.2]], "columns": [[0, 1]]},
            "values of SoftLabels must sum to 1 at most in each row; row 0 sums to 1.1.",
        ),
        (
            {"values": [[0.5, 0.5]], "columns": [[1, 1]]},
            "columns of SoftLabels must be different numbers in each row, from 0 to 2.",
        ),
        (
            {"values": [[0.5, 0.5]], "columns": [[1, 3]]},
            "columns of SoftLabels must be different numbers in each row, from 0 to 2.",
        ),
        (
            {"values": [[0.5]], "columns": [[0]], "classes": ()},
            "columns of SoftLabels are for classes; a regression has none.",
        ),
        (
            {"values": [[0.5, 0.5]], "columns": [[1.0, 2.0]]},
            "columns of SoftLabels must be class numbers, of the shape of the values (1, 2); got (1, 2) of float64.",
        ),
    ],
)
def test_what_is_not_a_soft_label_is_refused(given: dict[str, Any], sentence: str) -> None:
    usual: dict[str, Any] = {"ids": [1], "values": [[0.5, 0.5, 0.0]], "classes": ("a", "b", "c")}
    with pytest.raises(InputError) as caught:
        SoftLabels(**(usual | given))
    assert str(caught.value) == sentence
