"""Forgetting predicted: against whole Jacobians, against small steps of SGD, and on a short real training."""

from __future__ import annotations

import copy
import math
import sys

import numpy as np
import pytest
import torch
from torch import nn

import winnow as wn
from tests.methods.lpntk.test_kernel import Everything, nan_model, some
from tests.oracles.forgetting import change_of_logits
from winnow.core.errors import InputError, UnknownNameError
from winnow.methods.lpntk import cross, forgetting_report, gram, predict_forgetting


def margins(logits, y):
    return np.array([row[c] - np.delete(row, c).max() for row, c in zip(logits, np.asarray(y), strict=True)])


@pytest.fixture(scope="module")
def mlp():
    return wn.models.build("mlp", classes=10, shape=(1, 8, 8), seed=2)


@pytest.mark.parametrize("direction", ["error", "s_tilde"])
@pytest.mark.parametrize(("name", "shape"), [("mlp", (1, 8, 8)), ("lenet5", (1, 28, 28))])
def test_equals_whole_jacobians(name, shape, direction, monkeypatch):
    monkeypatch.setattr(sys.modules[predict_forgetting.__module__], "BATCH", 3)  # several blocks
    model, (x, y) = wn.models.build(name, classes=10, shape=shape, seed=1), some(shape, n=7)
    batch = [5, 2, 2, 0]
    change, logits = change_of_logits(model, x, y, batch, 0.3, direction)
    found = predict_forgetting(model, x, y, batch, 0.3, direction=direction, dtype="float64")
    np.testing.assert_allclose(found.margin[0], margins(logits, y), rtol=1e-9)
    np.testing.assert_allclose(found.expected[0], margins(logits + change, y), rtol=1e-9)
    right = logits.argmax(1) == y.numpy()
    np.testing.assert_array_equal(found.right[0], right)
    np.testing.assert_array_equal(found.predicted[0], right & ((logits + change).argmax(1) != y.numpy()))


@pytest.mark.filterwarnings("ignore:.*without a fast path:UserWarning")
def test_attention_norms_and_tied_layers():
    torch.manual_seed(0)
    model, x, y = Everything(), torch.randint(1, 12, (6, 6)), torch.tensor([0, 1, 2, 1, 0, 2])
    small = 1e-5
    found = predict_forgetting(model, x, y, [0, 3, 4], small, dtype="float64")
    went, thought = found.measured - found.margin, found.expected - found.margin
    np.testing.assert_allclose(thought, went, atol=1e-3 * abs(went).max())


def test_the_miss_of_a_small_step_is_of_second_order():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 30), nn.Tanh(), nn.Linear(30, 10))  # smooth: no kinks to cross
    x, y = some((1, 8, 8), n=40)
    missed = []
    for lr in (1e-3, 1e-4, 1e-5):
        found = predict_forgetting(model, x, y, np.arange(16), lr, dtype="float64")
        missed.append(abs(found.expected - found.measured).max())
        assert missed[-1] < 0.05 * abs(found.measured - found.margin).max()
    assert 90 < missed[0] / missed[1] < 110
    assert 90 < missed[1] / missed[2] < 110


def test_the_direction_of_an_undecided_network_is_s_tilde(mlp):
    flat = copy.deepcopy(mlp)
    with torch.no_grad():
        list(flat.parameters())[-2].zero_()  # the last layer: all logits equal
        list(flat.parameters())[-1].zero_()
    x, y = some((1, 8, 8), n=12)
    one, other = (predict_forgetting(flat, x, y, [1, 2, 3], 0.1, direction=d) for d in ("error", "s_tilde"))
    np.testing.assert_allclose(one.expected, other.expected, rtol=1e-5, atol=1e-7)


def test_the_first_order_is_a_sum_of_kernels(mlp):
    """Of the error kernel: errors at the examples, times their change of logits, are its rows summed over the batch."""
    x, y = some((1, 8, 8), n=9)
    batch = [1, 4, 6]
    change, logits = change_of_logits(mlp, x, y, batch, 1.0, "error")
    errors = np.eye(10)[y] - torch.as_tensor(logits).softmax(1).numpy()
    kernel = cross(mlp, x, y, x[batch], y[batch], "error", dtype="float64")
    np.testing.assert_allclose(10 * kernel.mean(1), (errors * change).sum(1), rtol=1e-8)


def test_several_updates_are_a_training(mlp):
    x, y = some((1, 8, 8), n=20)
    batches = [[0, 1, 2], np.array([3, 4]), [5, 6, 7, 8]]
    before = copy.deepcopy(mlp.state_dict())
    found = predict_forgetting(mlp, x, y, batches, 0.5)
    assert all(torch.equal(before[name], value) for name, value in mlp.state_dict().items())
    net = copy.deepcopy(mlp).eval()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    for turn, where in enumerate(batches):
        seen = net(x).detach().numpy()
        np.testing.assert_allclose(found.margin[turn], margins(seen, y), rtol=1e-4, atol=1e-5)
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x[where]), y[where]).backward()
        optimizer.step()
        after = net(x).detach().numpy()
        np.testing.assert_allclose(found.measured[turn], margins(after, y), rtol=1e-4, atol=1e-5)
        forgotten = (seen.argmax(1) == y.numpy()) & (after.argmax(1) != y.numpy())
        np.testing.assert_array_equal(found.happened[turn], forgotten)


@pytest.mark.parametrize("direction", ["error", "s_tilde"])
def test_it_beats_guessing_on_digits(direction):
    source = wn.open("digits", limit=400)
    x, y = source.read(np.arange(400)) / np.float32(255), source.labels
    model = wn.models.build("mlp", classes=10, shape=source.shape, seed=0)
    rng = np.random.default_rng(0)
    batches = [rng.choice(400, 32, replace=False) for _ in range(30)]
    report = predict_forgetting(model, x, y, batches, 0.02, direction=direction).report()
    assert report.happened > 50
    assert report.f1 > 3 * report.guessing
    assert report.precision > 0.3


def test_cross_is_a_part_of_gram(mlp, tmp_path, monkeypatch):
    monkeypatch.setattr("winnow.methods.lpntk.kernel_panels.BATCH", 4)
    x, y = some((1, 8, 8), n=23)
    whole = gram(mlp, x, y, dtype="float64")
    found = cross(mlp, x[:9], y[:9], x[9:], y[9:], dtype="float64", memory=1 << 20, out=tmp_path / "part.npy")
    assert found.shape == (9, 14)
    np.testing.assert_allclose(found, whole[:9, 9:], rtol=1e-10, atol=1e-14)
    np.testing.assert_array_equal(np.load(tmp_path / "part.npy"), found)
    np.testing.assert_allclose(cross(mlp, x[3:4], y[3:4], x, y, dtype="float64")[0], whole[3], rtol=1e-10, atol=1e-14)


def test_report_counts():
    report = forgetting_report([[1, 1, 0], [1, 0, 0]], [[1, 0, 1], [1, 0, 0]])
    assert (report.looked_at, report.predicted, report.happened, report.hits) == (6, 3, 3, 2)
    assert report.precision == report.recall == report.f1 == pytest.approx(2 / 3)
    assert report.guessing == pytest.approx(2 * 0.5 / 1.5)
    fewer = forgetting_report([True, True, False], [True, False, True], among=[True, False, True])
    assert (fewer.looked_at, fewer.predicted, fewer.happened, fewer.hits) == (2, 1, 2, 1)


@pytest.mark.parametrize(
    ("predicted", "happened", "undefined"),
    [([0, 0], [1, 0], ("precision",)), ([1, 0], [0, 0], ("recall", "guessing")), ([0], [0], ("precision", "f1"))],
)
def test_report_without_events(predicted, happened, undefined):
    report = forgetting_report(predicted, happened)
    assert all(math.isnan(getattr(report, name)) for name in undefined)
    assert report.hits == 0
    assert report.f1 == 0 or "f1" in undefined


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (([], []), "predicted of forgetting_report must not be empty"),
        (([1, 0], [1]), "happened of forgetting_report must have the shape of predicted, (2,); got (1,)."),
        (([1, 0], [1, 0], [1]), "among of forgetting_report must have the shape"),
        (([2, 0], [1, 0]), "predicted of forgetting_report must hold true and false"),
        (([1, math.nan], [1, 0]), "predicted of forgetting_report must be finite"),
    ],
)
def test_bad_reports_are_refused(given, words):
    with pytest.raises(InputError) as caught:
        forgetting_report(*given)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"y": [0, 1, 2, 3, 10]}, "y of predict_forgetting must lie in 0 to 9"),
        ({"y": [0, 1]}, "y of predict_forgetting must have 5 rows"),
        ({"x": torch.zeros(1, 1, 8, 8), "y": [0]}, "x of predict_forgetting must hold at least 2 example(s)"),
        ({"x": torch.zeros(0, 1, 8, 8), "y": []}, "x of predict_forgetting must hold at least 2 example(s)"),
        ({"x": torch.full((5, 1, 8, 8), math.nan)}, "x of predict_forgetting must be finite"),
        ({"model": nan_model()}, "logits of predict_forgetting must be finite"),
        ({"model": nn.Flatten()}, "model of predict_forgetting must have parameters"),
        ({"lr": 0}, "lr of predict_forgetting"),
        ({"lr": math.nan}, "lr of predict_forgetting"),
        ({"batches": []}, "batches of predict_forgetting must be positions of examples"),
        ({"batches": [[0, 1], []]}, "batches of predict_forgetting must not be empty"),
        ({"batches": [0, 5]}, "batches of predict_forgetting must hold positions from 0 to 4; got int64 from 0 to 5."),
        ({"batches": [-1, 0]}, "batches of predict_forgetting must hold positions"),
        ({"batches": [0.5]}, "batches of predict_forgetting must hold positions"),
        ({"batches": 3}, "batches of predict_forgetting must be positions"),
    ],
)
def test_bad_input_is_refused(change, words, mlp):
    x, y = some((1, 8, 8))
    given = {"model": mlp, "x": x, "y": y, "batches": [0, 1], "lr": 0.1, **change}
    with pytest.raises(InputError) as caught:
        predict_forgetting(**given)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_direction_is_refused_with_the_nearest(mlp):
    x, y = some((1, 8, 8))
    with pytest.raises(UnknownNameError, match="nearest: 's_tilde'"):
        predict_forgetting(mlp, x, y, [0], 0.1, direction="stilde")


def test_the_second_set_of_cross_is_named(mlp):
    x, y = some((1, 8, 8))
    with pytest.raises(InputError, match="y2 of cross must lie in 0 to 9"):
        cross(mlp, x, y, x, y + 10)
    with pytest.raises(InputError, match="x2 of cross must hold at least 1 example"):
        cross(mlp, x, y, x[:0], y[:0])
