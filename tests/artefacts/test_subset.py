from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from winnow.artefacts import Source, Subset
from winnow.core.errors import InputError

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 2, 3)).astype(np.float32)
Y = (X[:, 0, 0] + RNG.standard_normal(30) > 0).astype(np.int64)
IDS = np.array([f"e{k:02d}" for k in RNG.permutation(30)])
COUNTS = RNG.integers(1, 6, 12)


def source(task: str = "classification") -> Source:
    labels = {"classification": Y, "regression": X[:, 1, 2] + 0.5, "unlabelled": None}[task]
    classes = ("no", "yes") if task == "classification" else ()
    return Source("toy", lambda where: X[where], 30, (2, 3), "tensor", task, labels, classes, IDS)  # type: ignore[arg-type]


def weighted() -> Subset:
    return Subset(IDS[5:17], COUNTS.astype(float))


def test_arrays_are_rows_targets_and_weights_in_the_order_of_the_ids() -> None:
    sub = weighted()
    rows, y, w = sub.to_arrays(source())
    where = sub.indices(source())
    np.testing.assert_array_equal(rows, X[where].reshape(12, 6))
    np.testing.assert_array_equal(y, Y[where])
    np.testing.assert_array_equal(w, sub.weights)
    assert sub.to_arrays(source(), flatten=False).X.shape == (12, 2, 3)
    assert sub.to_arrays(source("unlabelled")).y is None
    assert Subset(IDS[:4]).to_arrays(source()).sample_weight.tolist() == [1.0] * 4


def test_scikit_learn_on_a_weighted_subset_is_scikit_learn_on_the_repeats() -> None:
    where = np.repeat(np.arange(5, 17), COUNTS)
    repeats = X[where].reshape(-1, 6).astype(float)
    rows, y, w = weighted().to_arrays(source())
    rows = rows.astype(float)
    exact = {"C": 0.7, "tol": 1e-8, "solver": "newton-cholesky"}
    ours = LogisticRegression(**exact).fit(rows, y, sample_weight=w)
    theirs = LogisticRegression(**exact).fit(repeats, Y[where])
    plain = LogisticRegression(**exact).fit(rows, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-10)
    assert np.abs(ours.coef_ - plain.coef_).max() > 1e-2
    rows, target, w = weighted().to_arrays(source("regression"))
    ridge = Ridge(0.3).fit(rows.astype(float), target, sample_weight=w)
    twin = Ridge(0.3).fit(repeats, source("regression").labels[where])
    np.testing.assert_allclose(ridge.coef_, twin.coef_, atol=1e-10)


def test_a_sampler_can_walk_the_full_data_set() -> None:
    sub, src = weighted(), source()
    where = sub.indices(src)
    within = list(sub.sampler(4))
    assert list(sub.sampler(4, source=src)) == where[within].tolist()
    assert list(sub.sampler(4, dataset=src)) == where[within].tolist()
    assert list(sub.sampler(4, dataset=list(range(30)), source=src)) == where[within].tolist()
    positions = Subset(np.array([7, 2, 9]))
    assert sorted(positions.sampler(0, dataset=list(range(10)))) == [2, 7, 9]


def test_a_sampler_refuses_a_data_set_it_does_not_fit() -> None:
    with pytest.raises(
        InputError, match=r"dataset of Subset\.sampler must have the 30 examples of the source; it has 12"
    ):
        weighted().sampler(0, dataset=list(range(12)), source=source())
    with pytest.raises(InputError, match=r"Subset\.sampler needs source="):
        weighted().sampler(0, dataset=list(range(30)))
    with pytest.raises(InputError, match=r"dataset of Subset\.sampler has 5 examples; the subset names position 7"):
        Subset(np.array([7])).sampler(0, dataset=list(range(5)))
    with pytest.raises(InputError, match=r"must be map-style"):
        Subset(np.array([7])).sampler(0, dataset=iter([1]))
