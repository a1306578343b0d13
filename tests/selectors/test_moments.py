import numpy as np
import pytest

from winnow.artefacts import Signals
from winnow.artefacts.quotas import in_proportion
from winnow.core.errors import InputError
from winnow.methods.moments.principal import principal
from winnow.selectors.select import select


def made(counts=(60, 200, 40), dims=3, seed=0, task="classification", copies=1):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(counts)), counts)
    rows = rng.normal(size=(labels.size, dims)) + labels[:, None]
    rows, labels = np.repeat(rows, copies, axis=0), np.repeat(labels, copies)
    target = {
        "classification": labels,
        "regression": rows[:, 0] ** 2 + rng.normal(size=labels.size),
        "unlabelled": None,
    }[task]
    names = tuple("abc"[: len(counts)]) if task == "classification" else ()
    return Signals(np.arange(labels.size), {"embeddings": rows}, task, target, names)


def sums(signals, ids, weights, basis):
    return weights @ basis(signals.embeddings[ids].astype(np.float64))


def test_weights_stand_for_the_class_and_keep_its_moments():
    signals = made()
    out = select("moments", signals, size=75, balance=None, order=2)
    labels = np.asarray(signals.labels)[out.ids]
    assert np.bincount(labels).tolist() == [25, 25, 25]
    for c, count in enumerate((60, 200, 40)):
        mine = labels == c
        assert out.weights[mine].sum() == pytest.approx(count, rel=1e-13)
        where = np.flatnonzero(signals.labels == c)
        for power in (1, 2):  # 25 examples match the ten moments of the second order in three dimensions twice over
            full = sums(signals, where, np.ones(count), lambda x, p=power: x**p)
            kept = sums(signals, out.ids[mine], out.weights[mine], lambda x, p=power: x**p)
            np.testing.assert_allclose(kept, full, rtol=1e-9)
    assert out.certificate["order"] == 2
    assert 0 < out.certificate["expected_error"] < out.certificate["random_error"]
    assert out.certificate["spread_lost"] == 0.0
    assert out.certificate["moment_error"] < 1e-12
    assert set(out.certificate["parts"]) == {"a", "b", "c"}


def test_many_dimensions_are_reduced_and_the_loss_is_stated():
    signals = made(dims=40)
    out = select("moments", signals, size=30, balance=None)
    about = out.certificate
    assert about["order"] == 1
    assert about["dims"] == 9  # ten examples match a mean in nine directions
    rows = signals.embeddings[np.asarray(signals.labels) == 1].astype(np.float64)
    _, share = principal(rows - rows.mean(axis=0), 9)
    assert about["parts"]["b"]["spread_lost"] == pytest.approx(1 - share, abs=1e-9)
    assert 0.3 < about["spread_lost"] < 0.9


def test_the_order_follows_the_activation_where_all_directions_fit():
    signals = made(task="unlabelled", dims=1)
    orders = {a: select("moments", signals, size=40, activation=a).certificate["order"] for a in ("relu", "tanh")}
    assert orders["relu"] <= 2 < orders["tanh"]


def test_regression_keeps_what_a_squared_loss_depends_on():
    signals = made(task="regression", dims=2)
    out = select("moments", signals, size=60, balance=None, order=2)
    x, y = signals.embeddings.astype(np.float64), np.asarray(signals.labels)
    design = np.column_stack([np.ones(len(x)), x, x**2, x[:, 0] * x[:, 1]])
    few = design[out.ids]
    full = np.linalg.lstsq(design, y, rcond=None)[0]
    root = np.sqrt(out.weights)[:, None]
    kept = np.linalg.lstsq(root * few, root[:, 0] * y[out.ids], rcond=None)[0]
    # a quadratic model's squared loss needs x up to order 4: only x up to 2 times y is matched, so compare the moments
    np.testing.assert_allclose(out.weights @ (few * y[out.ids, None]), design.T @ y, rtol=1e-9)
    linear = np.linalg.lstsq(design[:, :3], y, rcond=None)[0]
    mine = np.linalg.lstsq(root * few[:, :3], root[:, 0] * y[out.ids], rcond=None)[0]
    np.testing.assert_allclose(mine, linear, rtol=1e-8)  # a linear model's loss is matched whole
    assert np.abs(kept - full).max() > 1e-6
    assert float(out.weights @ y[out.ids] ** 2) == pytest.approx(float((y**2).sum()), rel=1e-9)


def test_without_labels_everything_is_one_group():
    signals = made(task="unlabelled")
    out = select("moments", signals, size=50, balance=None, order=3)
    assert out.weights.sum() == pytest.approx(300)
    assert out.certificate["matched_within"] == "all"


def test_copies_share_the_weight_of_the_one_that_stands_for_them():
    signals = made(counts=(6, 6), copies=5)
    out = select("moments", signals, size=40, balance=None)
    assert len(out) == 40
    rows = signals.embeddings.astype(np.float64)
    np.testing.assert_allclose(out.weights @ rows[out.ids], rows.sum(axis=0), rtol=1e-9)
    assert out.weights.min() > 0.1


def test_a_grid_reaches_the_size_too():
    side = np.arange(6.0)
    rows = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    signals = Signals(np.arange(36), {"embeddings": rows}, "unlabelled")
    for size in range(1, 37):
        out = select("moments", signals, size=size, balance=None)
        assert len(out) == size
        assert out.weights.sum() == pytest.approx(36)
        np.testing.assert_allclose(out.weights @ rows[out.ids], rows.sum(axis=0), rtol=1e-6 if size > 2 else 1)


def test_the_error_to_expect_counts_what_is_not_matched():
    rows = np.random.default_rng(1).normal(size=(4000, 8))
    signals = Signals(np.arange(4000), {"embeddings": rows}, "unlabelled")
    functions = np.tanh(rows @ np.random.default_rng(2).normal(size=(8, 200)))
    functions = (functions - functions.mean(axis=0)) / functions.std(axis=0)
    for options in ({"dims": 1}, {"dims": 8, "order": 1}, {"order": 9, "activation": "tanh"}):
        out = select("moments", signals, size=100, balance=None, **options)
        missed = np.sqrt(np.square(out.weights @ functions[out.ids] / 4000).mean())
        assert out.certificate["expected_error"] / 3 < missed < 3 * out.certificate["expected_error"]


def test_a_class_of_which_nothing_is_kept_is_an_error_of_one():
    out = select("moments", made(), size=2, balance=None)
    assert out.certificate["moment_error"] == 1.0
    assert [part["size"] for part in out.certificate["parts"].values()].count(0) == 1


@pytest.mark.parametrize("balance", [0.3, 1.0])
def test_quotas_leave_the_weights_of_classes_whole(balance):
    signals = made()
    out = select("moments", signals, size=60, balance=balance)
    labels = np.asarray(signals.labels)[out.ids]
    for c, count in enumerate((60, 200, 40)):
        assert out.weights[labels == c].sum() == pytest.approx(count)
    assert (np.bincount(labels) >= min(20 * balance, 40)).all()
    assert out.certificate["order"] >= 1
    assert out.certificate["moment_error"] < 1e-12
    assert sum(out.certificate["floors"].values()) == 3 * 20 * balance
    assert list(out.certificate["quotas"].values()) == np.bincount(labels).tolist()
    if balance == 0.3:
        assert np.bincount(labels).argmax() == 1  # the rest goes by what classes have


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"order": 0}, "order of selector 'moments' must be"),
        ({"dims": 0}, "dims of selector 'moments' must be"),
        ({"dims": 30}, "dims of selector 'moments' must leave"),
        ({"order": 4}, "must be at least"),
    ],
)
def test_what_cannot_be_matched_is_refused(given, said):
    with pytest.raises(InputError, match=said):
        select("moments", made(dims=40), size=30, **({"dims": 5} | given))


def test_proportions_sum_and_stay_below_what_there_is():
    rng = np.random.default_rng(0)
    for _ in range(50):
        capacity = rng.integers(0, 30, rng.integers(1, 9))
        if capacity.sum() == 0:
            continue
        total = int(rng.integers(0, capacity.sum() + 1))
        parts = in_proportion(capacity, total)
        assert parts.sum() == total
        assert (parts <= capacity).all()
        assert (np.abs(parts - capacity * total / capacity.sum()) < 1).all()
