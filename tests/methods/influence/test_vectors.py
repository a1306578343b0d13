"""Influence vectors against their definition, closed forms, retraining, and each other's solvers."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import winnow as wn
from tests.methods.influence.problems import digits, retrained, softmax_problem
from tests.oracles import influence as oracle
from winnow.methods.influence import curvature as curvature_module
from winnow.methods.influence.curvature import curvature, smallest_ratio


@pytest.fixture(scope="module")
def small():
    features, labels, head = softmax_problem(n=60)
    return features, labels, head, wn.influence.vectors(features, head.outputs, labels, 0.01)


def test_head_is_at_the_optimum_another_method_finds(small):
    features, labels, head, _ = small
    theta = oracle.softmax_head(features, labels, 0.01, 3)
    assert np.allclose(head.theta, theta, atol=1e-6)
    assert head.gradient < 1e-9
    assert np.allclose(head.outputs, oracle.softmax_outputs(features, theta), atol=1e-6)


def test_rows_are_those_of_the_definition(small):
    features, labels, head, found = small
    wanted = oracle.influence_rows(features, head.outputs, labels, 0.01, head.theta)
    assert np.abs(np.asarray(found) - wanted).max() < 1e-9 * np.abs(wanted).max()
    assert np.abs(found.sum(axis=0)).max() < 1e-12  # all of them cancel at the optimum


def test_the_other_convention_is_the_printed_one(small):
    features, labels, head, found = small
    printed = wn.influence.vectors(features, head.outputs, labels, 0.01, convention="1/n")
    wanted = oracle.influence_rows(features, head.outputs, labels, 0.01, head.theta, regularised=False)
    assert np.abs(np.asarray(printed) - wanted).max() < 1e-9 * np.abs(wanted).max()
    assert np.linalg.norm(printed.sum(axis=0)) > 100 * np.linalg.norm(found.sum(axis=0))


@pytest.mark.parametrize("outputs", [1, 3])
def test_ridge_is_the_closed_form(outputs):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(200, 6)), rng.normal(size=(200, outputs))
    theta = oracle.ridge(x, y, 0.1)
    fitted = wn.influence.fit_head(x, y, 0.1, loss="squared")
    assert np.abs(fitted.theta - theta).max() < 1e-12
    found = wn.influence.vectors(x, x @ theta, y, 0.1, loss="squared")
    wanted = oracle.influence_rows(x, x @ theta, y, 0.1, theta, loss="squared")
    assert np.abs(np.asarray(found) - wanted).max() < 1e-8 * np.abs(wanted).max()
    for removed in ([7], np.arange(0, 200, 3)):  # one Newton step is exact for a quadratic
        kept = np.setdiff1d(np.arange(200), removed)
        actual = np.linalg.norm(oracle.ridge(x[kept], y[kept], 0.1) - theta)
        assert abs(wn.influence.certify(found, removed)["newton"] - actual) < 1e-8 * actual


def test_leaving_one_out_of_real_data():
    """Ten examples of 1,200 digits, retrained without: the direction and the length, to a few per cent."""
    features, labels = digits(1200)
    head = wn.influence.fit_head(features, labels, 0.01)
    found = wn.influence.vectors(features, head.outputs, labels, 0.01)
    for i in np.argsort(found.norms)[:: len(features) // 10][:10]:
        actual = (retrained(features, labels, 0.01, [i], head.theta) - head.theta).ravel()
        predicted = found[i] * len(features) / (len(features) - 1)
        assert np.linalg.norm(predicted - actual) < 0.06 * np.linalg.norm(actual) + 1e-9


@pytest.mark.parametrize("loss", ["softmax", "squared"])
def test_conjugate_gradients_agree_with_cholesky(loss, monkeypatch):
    features, labels, head = softmax_problem(n=120)
    outputs, targets = (head.outputs, labels) if loss == "softmax" else (features @ head.theta, head.outputs)
    exact = wn.influence.vectors(features, outputs, targets, 0.01, loss=loss, solver="exact")
    free = wn.influence.vectors(features, outputs, targets, 0.01, loss=loss, solver="cg")
    assert np.abs(exact - free).max() < 1e-6 * np.abs(exact).max()
    kept = np.arange(0, 120, 2)
    ratios = []
    for solver in ("exact", "cg"):
        parts = [curvature(exact.head, rows, solver=solver) for rows in (kept, None)]
        ratios.append(smallest_ratio(*parts, exact.head.parameters))
    assert abs(ratios[0] - ratios[1]) < 2e-3
    matrices = [
        oracle.hessian(features[rows], np.asarray(outputs)[rows], 0.01, loss) for rows in (kept, np.arange(120))
    ]
    assert abs(ratios[0] - np.linalg.eigvals(np.linalg.solve(matrices[1], matrices[0])).real.min()) < 1e-9
    monkeypatch.setattr(curvature_module, "DIRECT", 3)
    monkeypatch.setattr(curvature_module, "MEMORY", 24)
    certificate = wn.influence.certify(free, np.arange(1, 120, 2))
    monkeypatch.undo()
    again = wn.influence.certify(exact, np.arange(1, 120, 2))
    assert all(abs(certificate[key] / again[key] - 1) < 2e-3 for key in ("newton", "corrected", "printed", "curvature"))


def test_auto_solves_many_right_hand_sides_with_the_matrix_and_few_without(monkeypatch):
    features, labels, head = softmax_problem(n=400, q=3, damping=0.2)
    found = wn.influence.vectors(features, head.outputs, labels, 0.2).head
    kinds = curvature_module.Dense, curvature_module.MatrixFree
    assert isinstance(curvature(found), kinds[0])  # small: always held
    monkeypatch.setattr(curvature_module, "DIRECT", 1)
    assert isinstance(curvature(found, right_sides=400), kinds[0])
    monkeypatch.setattr(curvature_module, "STEPS", 0.01)  # as if two products were cheaper than the matrix
    assert isinstance(curvature(found), kinds[1])
    assert isinstance(curvature(found, solver="exact"), kinds[0])
    monkeypatch.undo()
    monkeypatch.setattr(curvature_module, "DIRECT", 1)
    monkeypatch.setattr(curvature_module, "MEMORY", 24)  # no room for a matrix of more than one number
    assert isinstance(curvature(found, right_sides=400), kinds[1])


def test_lissa_comes_near_on_a_small_problem():
    features, labels, head = softmax_problem(n=40, q=3, damping=0.2)
    exact = wn.influence.vectors(features, head.outputs, labels, 0.2)
    rough = wn.influence.vectors(
        features, head.outputs, labels, 0.2, solver=wn.influence.Lissa(depth=400, repeats=4, batch=20)
    )
    off = np.linalg.norm(np.asarray(rough) - exact) / np.linalg.norm(exact)
    assert 1e-6 < off < 0.05
    named = wn.influence.vectors(features, head.outputs, labels, 0.2, solver="lissa")
    assert named.solver == "lissa"
    assert np.linalg.norm(np.asarray(named) - exact) < 0.5 * np.linalg.norm(exact)


def test_rows_can_be_filled_into_a_file(tmp_path, small, monkeypatch):
    features, labels, head, found = small
    monkeypatch.setattr("winnow.methods.influence.heads.NUMBERS", 50)  # many blocks
    place = np.lib.format.open_memmap(tmp_path / "rows.npy", "w+", np.float32, found.shape)
    filled = wn.influence.vectors(features, head.outputs, labels, 0.01, out=place)
    assert filled.values is place
    assert np.allclose(place, found, rtol=1e-5, atol=1e-9)
    half = wn.influence.vectors(features, head.outputs, labels, 0.01, dtype="float32")
    assert half.dtype == np.float32


def test_is_an_array_by_use(small):
    _, _, _, found = small
    rows = np.asarray(found)
    assert found.shape == rows.shape == (60, 15)
    assert len(found) == 60
    assert np.array_equal(found[3], rows[3])
    assert np.array_equal((found * 2)[[0, 1]], 2 * rows[:2])
    assert np.array_equal(found @ np.ones(15), rows @ np.ones(15))
    assert np.allclose(np.linalg.norm(found, axis=1), found.norms)
    assert np.array(found, dtype=np.float32).dtype == np.float32
    assert np.array_equal(copy.copy(found).values, rows)
    assert "60 examples x 15 parameters" in repr(found)
    with pytest.raises(AttributeError):
        found.no_such_thing  # noqa: B018


def test_outputs_off_the_optimum_are_noticed(small):
    features, labels, head, found = small
    assert found.head.gap < 1e-6
    stopped = oracle.softmax_outputs(features, 0.5 * head.theta)
    early = wn.influence.vectors(features, stopped, labels, 0.01)
    assert any("not those of a head at its optimum" in note for note in wn.influence.certify(early, [1])["notes"])


def test_loss_influence_is_what_retraining_does_to_other_examples():
    features, labels, head = softmax_problem(n=400)
    other, targets, _ = softmax_problem(n=100, seed=0)
    found = wn.influence.vectors(features, head.outputs, labels, 0.01)

    def loss(theta):
        return -np.log(oracle.softmax_outputs(other, theta)[np.arange(100), targets]).mean()

    values = wn.influence.loss_influence(found, other, oracle.softmax_outputs(other, head.theta), targets)
    for i in np.argsort(-np.abs(values))[:5]:
        actual = loss(retrained(features, labels, 0.01, [i], head.theta)) - loss(head.theta)
        assert abs(values[i] - actual) < 0.1 * abs(actual)
