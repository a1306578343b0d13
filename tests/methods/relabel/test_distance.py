"""The distance: zero for what a linear map can do, one for what is unrelated, directed, judged on held-out rows."""

from __future__ import annotations

import numpy as np
import pytest

import winnow as wn
from tests.oracles.pca import leave_one_out, ridge_distance
from winnow.core.errors import InputError, UnknownNameError
from winnow.methods.relabel import Targets, compare, representation_distance
from winnow.methods.relabel.distance import STRENGTHS, _chosen, _split

RNG = np.random.default_rng(0)
A = RNG.normal(size=(400, 8))
HALF = A[:, :4] @ RNG.normal(size=(4, 4))
NOISE = RNG.normal(size=(400, 5))


def test_a_linear_map_leaves_nothing_and_it_is_directed() -> None:
    assert representation_distance(A, HALF + 3.0) < 1e-12
    assert 0.4 < representation_distance(HALF, A) < 0.65  # half of the coordinates cannot be known
    assert representation_distance(A, A) < 1e-12


def test_unrelated_rows_are_about_one_apart_and_may_be_more() -> None:
    found = representation_distance(A, NOISE)
    assert abs(found - 1) < 4 * np.sqrt(2 / (80 * 5))  # the spread of a mean of 400 squares of normal numbers
    assert representation_distance(A[:60], NOISE[:60], ridge=1e-8) > 1  # no ridge to speak of: the map misleads


@pytest.mark.parametrize("strength", [1e-6, 1e-2, 1.0])
def test_equal_to_the_normal_equations(strength: float) -> None:
    b = np.tanh(A @ RNG.normal(size=(8, 6)))
    fitted, judged = _split("test", 400, "regression", 0.25, None, 10_000, 3)
    assert (len(fitted), len(judged), len({*fitted, *judged})) == (300, 100, 400)
    wanted = ridge_distance(A, b, fitted, judged, strength)
    assert representation_distance(A, b, held_out=0.25, ridge=strength, seed=3) == pytest.approx(wanted, rel=1e-9)


def test_the_strength_is_near_the_one_that_leaving_out_would_choose() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(60, 30))
    y = x @ rng.normal(size=(30, 3)) * 0.1 + rng.normal(size=(60, 3))
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    u, s, _ = np.linalg.svd(x, full_matrices=False)
    chosen = _chosen(60, s, u.T @ y, y)
    errors = [leave_one_out(x, y, strength) for strength in STRENGTHS]
    assert abs(int(np.argmin(errors)) - int(np.flatnonzero(chosen == STRENGTHS)[0])) <= 1
    assert leave_one_out(x, y, chosen) < 1.05 * min(errors)


def test_held_out_rows_choose_nothing() -> None:
    _, judged = _split("test", 400, "regression", 0.2, None, 10_000, 0)
    b = HALF.copy()
    b[judged] = RNG.normal(size=(80, 4)) * HALF.std()
    assert representation_distance(A, b) > 1.5  # the map of the other rows, which these rows contradict


def test_the_neighbour_form_counts_rows_that_land_elsewhere() -> None:
    assert representation_distance(A, HALF, form="neighbour") == 0
    lost = representation_distance(NOISE, A, form="neighbour")
    assert 0.9 < lost <= 1
    twins = np.repeat(A[:200], 2, axis=0)
    assert representation_distance(twins, twins, form="neighbour") == 0


def test_rows_are_matched_by_id() -> None:
    source = wn.open(A.astype(np.float32))
    one = wn.embed(source)
    order = np.random.default_rng(2).permutation(400)
    targets = Targets(one.ids[order], one.embeddings[order] @ np.ones((8, 2)))
    assert representation_distance(one, targets) < 1e-6
    assert representation_distance(targets, one.take(one.ids[order])) > 0.5
    with pytest.raises(InputError, match="must all carry ids or all be arrays"):
        representation_distance(one, A)


def test_comparison_prefers_what_predicts_the_others() -> None:
    found = compare({"all": A, "half": HALF, "noise": NOISE[:, :2]})
    assert found.names == ("all", "half", "noise")
    assert found.widths == (8, 4, 2)
    assert found.matrix[0, 1] == representation_distance(A, HALF)
    assert found.matrix[1, 0] == representation_distance(HALF, A)
    np.testing.assert_allclose(found.means[0], (found.matrix[0, 1] + found.matrix[0, 2]) / 2)
    assert (found.best, found.decided, found.rows) == ("all", True, 80)
    assert found.advice.startswith("Use 'all' (")
    assert "No labels were used" in found.advice
    rows = found.table()
    assert [row["from"] for row in rows] == ["all", "half", "noise"]
    assert rows[1]["to all"] == found.matrix[1, 0]
    assert found.as_dict()["matrix"] == found.matrix.tolist()


def test_comparison_by_labels_goes_by_the_labels() -> None:
    labels = np.where(NOISE[:, 0] > 0, 7, 3)
    found = compare({"all": A, "noise": NOISE}, labels=labels)
    assert found.best == "noise"
    assert found.labels is not None
    assert found.labels[1] < 0.6 < 0.9 < found.labels[0]
    assert "Labels were used" in found.advice
    assert found.table()[0]["to labels"] == found.labels[0]


def test_what_cannot_be_told_apart_is_said_to_be_so() -> None:
    turned = A @ np.linalg.qr(RNG.normal(size=(8, 8)))[0]
    found = compare({"one": A + 0.1 * RNG.normal(size=A.shape), "two": turned + 0.1 * RNG.normal(size=A.shape)})
    assert not found.decided
    assert "cannot be distinguished on 80 held-out examples" in found.advice


def test_rows_bound_the_work_and_the_seed_decides_them() -> None:
    fitted, judged = _split("test", 400, "regression", 0.5, None, 100, 0)
    assert (len(fitted), len(judged)) == (50, 50)
    b = np.tanh(HALF)
    one, again, other = (representation_distance(A, b, rows=100, seed=seed) for seed in (1, 1, 2))
    assert one == again != other


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"b": NOISE[:9]}, "one row for each of the same examples; a has 400, b has 9"),
        ({"a": A[:3], "b": A[:3]}, "at least 4 rows, to fit and to judge; got 3"),
        ({"b": np.ones((400, 2))}, "must differ between examples"),
        ({"b": NOISE[:, 0]}, r"must have 2 dimension\(s\)"),
        ({"b": np.where(A > 2, np.nan, A)}, "b of relabel.representation_distance must be finite"),
        ({"held_out": 1.0}, r"held_out of relabel.representation_distance must be a number in \(0, 1\)"),
        ({"ridge": 0.0}, "ridge of relabel.representation_distance must be a number above 0"),
        ({"rows": 3}, "rows of relabel.representation_distance"),
    ],
)
def test_refusals(how: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        representation_distance(**{"a": A, "b": NOISE, **how})


def test_unknown_forms_and_lonely_priors_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="nearest: 'neighbour'"):
        representation_distance(A, NOISE, form="neighbor")
    with pytest.raises(InputError, match="two or more, by name; got 1"):
        compare({"one": A})
    with pytest.raises(InputError, match=r"labels of relabel.compare must have 400 rows"):
        compare({"one": A, "two": NOISE}, labels=[0, 1])


def test_labels_are_matched_by_id() -> None:
    labels = (A[:, 0] > 0).astype(int)
    source = wn.open((A, labels), ids=[f"id-{k}" for k in np.random.default_rng(5).permutation(len(A))])
    known = {name: Targets(source.ids, rows) for name, rows in {"all": A, "noise": NOISE}.items()}
    assert compare(known, labels=source).means[0] < 0.6 < compare(known, labels=source).means[1]
    plain = compare({"all": A, "noise": NOISE}, labels=source)
    assert plain.means.tolist() == compare({"all": A, "noise": NOISE}, labels=labels).means.tolist()
    with pytest.raises(InputError, match=r"labels of relabel.compare must be a Source where representations carry ids"):
        compare(known, labels=labels)
    with pytest.raises(InputError, match=r"labels of relabel.compare must be classes; source .* is unlabelled"):
        compare(known, labels=wn.open(A))
