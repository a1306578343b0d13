"""Vectors of a torch network by naming its head."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import winnow as wn
from tests.methods.influence.problems import softmax_problem


class Small(nn.Module):
    def __init__(self, bias=True):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Dropout(0.5))
        self.head = nn.Linear(6, 3, bias=bias)

    def forward(self, x):
        return self.head(self.body(x))


@pytest.fixture
def data():
    features, labels, _ = softmax_problem(n=50)
    return features[:, :4].astype(np.float32), labels


@pytest.mark.parametrize("bias", [True, False])
def test_reads_what_the_head_is_given(bias, data):
    torch.manual_seed(0)
    model, (x, y) = Small(bias).train(), data
    before = [p.clone() for p in model.parameters()]
    found = wn.influence.from_model(model, "head", x, y, 0.01, refit=False)
    assert model.training
    assert all(torch.equal(p, q) for p, q in zip(model.parameters(), before, strict=True))
    with torch.no_grad():
        inside = model.eval().body(torch.from_numpy(x)).double().numpy()
        probs = torch.softmax(model(torch.from_numpy(x)).double(), 1).numpy()
    features = np.hstack([inside, np.ones((50, 1))]) if bias else inside
    wanted = wn.influence.vectors(features, probs, y, 0.01)
    assert np.allclose(found, wanted, atol=1e-6)
    assert any("optimum" in note for note in wn.influence.certify(found, [0])["notes"])
    fitted = wn.influence.from_model(model, "head", torch.from_numpy(x), torch.from_numpy(y), 0.01)
    assert fitted.head.gap < 1e-6


def test_least_squares(data):
    x, _ = data
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 1))
    found = wn.influence.from_model(model, "2", x, x[:, 0], 0.1, loss="squared")
    assert found.shape == (50, 4)
    assert abs(found.sum(axis=0)).max() < 1e-9


@pytest.mark.parametrize(
    ("head", "says"),
    [
        ("heat", "unknown head of a Small: 'heat' (nearest: 'head')"),
        (3, "unknown head of a Small: 3"),
        ("body.1", "must name a linear layer (body.0, head); 'body.1' is a Tanh"),
        ("body.0", "must be the layer whose output is the network's"),
    ],
)
def test_a_head_that_cannot_be_found(head, says, data):
    with pytest.raises(wn.errors.WinnowError) as caught:
        wn.influence.from_model(Small(), head, *data, 0.01)
    assert says in str(caught.value)


def test_networks_without_a_head(data):
    with pytest.raises(wn.errors.InputError, match="this ReLU has none"):
        wn.influence.from_model(nn.ReLU(), "head", *data, 0.01)
    with pytest.raises(wn.errors.InputError, match="must be a torch module"):
        wn.influence.from_model("lenet5", "head", *data, 0.01)
