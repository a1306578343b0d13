"""Networks whose layers are not what they seem, against brute force: plain autograd, logit by logit, in float64."""

from __future__ import annotations

import copy
import math
import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from tests.methods.lpntk.networks import (
    FLAT,
    IMAGE,
    LOOPED,
    NETS,
    SEQUENCE,
    TOKENS,
    Net,
    Single,
    data,
    image_net,
    routed,
)
from winnow.core.errors import InputError
from winnow.methods.lpntk import layer_trust as trusting
from winnow.methods.lpntk.kernel import cross, features, gram
from winnow.methods.lpntk.kernel_inputs import checked

CLASSES = 4


def jacobians(model, x):
    """Of each example alone, classes x parameters."""
    net = copy.deepcopy(model).double().eval()
    parameters = [p.requires_grad_() for p in net.parameters()]
    out = []
    for i in range(len(x)):
        logits = net(x[i : i + 1].double() if x.is_floating_point() else x[i : i + 1])[0]
        rows = []
        for logit in logits:
            given = torch.autograd.grad(logit, parameters, retain_graph=True, allow_unused=True, materialize_grads=True)
            rows.append(torch.cat([slope.flatten() for slope in given]))
        out.append(torch.stack(rows))
    return torch.stack(out)


def brute(model, x, y, x2=None, y2=None):
    """s^T (K x K block of the tangent kernel) s' / K of every pair."""
    x2, y2 = (x, y) if x2 is None else (x2, y2)
    blocks = torch.einsum("ikp,jlp->ijkl", jacobians(model, x), jacobians(model, x2))
    signs, others = (2 * functional.one_hot(labels, CLASSES).double() - 1 for labels in (y, y2))
    return (torch.einsum("ik,ijkl,jl->ij", signs, blocks, others) / CLASSES).numpy()


@pytest.mark.parametrize("n", [5, 8])  # 8 is also the length of the sequences
@pytest.mark.parametrize("name", NETS)
def test_equals_brute_force_and_says_so(name, n):
    torch.manual_seed(0)
    make, shape = NETS[name]
    model, (x, y) = make(), data(shape, n)
    exact = brute(model, x, y)
    way = "one example at a time" if name in LOOPED else "by torch.func"
    with pytest.warns(UserWarning, match=f"without a fast path .*{way}, which is exact"):
        found = gram(model, x, y, dtype="float64")
    np.testing.assert_allclose(found, exact, rtol=1e-9, atol=1e-12 * abs(exact).max())


@pytest.mark.parametrize("name", ["sequence first", "folded positions", "table of places"])
def test_sequences_as_long_as_the_examples_tried(name, monkeypatch):
    torch.manual_seed(0)
    monkeypatch.setattr(trusting, "_probes", lambda inputs: inputs[:8])
    make, shape = NETS[name]
    model, (x, y) = make(), data(shape, 8)
    exact = brute(model, x, y)
    with pytest.warns(UserWarning, match="without a fast path"):
        np.testing.assert_allclose(gram(model, x, y, dtype="float64"), exact, rtol=1e-9, atol=1e-12)


def test_what_is_plain_stays_on_the_short_way():
    """By keyword, with a hook that only looks, frozen behind no_grad, or never used: none of it is a reason."""

    def run(self, x):
        with torch.no_grad():
            h = self.frozen(x)
        return self.h(input=torch.tanh(self.l(input=h)))

    torch.manual_seed(0)
    parts = {"frozen": nn.Linear(5, 5), "l": nn.Linear(5, 6), "h": nn.Linear(6, 4), "idle": nn.Linear(3, 3)}
    model, (x, y) = Net(run, **parts), data(FLAT, 6)
    seen = []
    model.l.register_forward_hook(lambda _module, _given, output: seen.append(len(output)))
    exact = brute(model, x, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(gram(model, x, y, dtype="float64"), exact, rtol=1e-9)
        rows = features(model, x, y, dtype="float64")
        plan = trusting.trusted("gram", *checked("gram", model, x, y, "lpntk", "float32", 2)[:2])
    assert seen
    assert rows.shape == (6, sum(p.numel() for p in model.parameters()))
    np.testing.assert_allclose(rows @ rows.T, exact, rtol=1e-9)
    assert plan.short == {"frozen": 1, "l": 1, "h": 1, "idle": 0}


@pytest.mark.filterwarnings("ignore:.*without a fast path:UserWarning")
def test_only_what_fails_goes_the_long_way():
    torch.manual_seed(0)
    make, shape = NETS["weights used twice"]
    plan = trusting.trusted("gram", make().eval(), data(shape, 6)[0])
    assert plan.short == {"h": 1}
    assert not plan.loop


def by_features(model, x, y):
    rows = features(model, x, y, dtype="float64")
    return rows @ rows.T


def by_gram(model, x, y):
    return gram(model, x, y, dtype="float64")


def by_cross(model, x, y):
    return cross(model, x, y, x, y, dtype="float64")


@pytest.mark.parametrize("of", [by_gram, by_cross, by_features])
def test_use_that_changes_from_batch_to_batch(of, monkeypatch):
    """All examples that are tried go one way; among the others are some that go the other."""
    torch.manual_seed(0)
    monkeypatch.setattr(trusting, "_LOOKED_AT", 2)
    monkeypatch.setattr("winnow.methods.lpntk.kernel_panels.BATCH", 4)
    model = Net(routed, one=nn.Linear(5, 6), two=nn.Linear(5, 6), h=nn.Linear(6, 4))
    x, y = data(FLAT, 12)
    x[:6, 0], x[6:, 0], x[[0, -1], 0] = x[:6, 0].abs(), -x[6:, 0].abs(), 1.0
    with pytest.warns(UserWarning, match="one example at a time"):
        found = of(model, x, y)
    np.testing.assert_allclose(found, brute(model, x, y), rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*without a fast path:UserWarning")
@pytest.mark.parametrize("lengths", [(8, 3), (1, 8), (2, 9)])
def test_cross_between_sequences_of_other_lengths(lengths):
    torch.manual_seed(0)
    model = Net(lambda self, x: self.h(torch.tanh(self.l(x)).mean(1)), l=nn.Linear(5, 30), h=nn.Linear(30, 4))
    (x, y), (x2, y2) = (data((length, 5), n, seed=n) for length, n in zip(lengths, (1, 5), strict=True))
    found = cross(model, x, y, x2, y2, dtype="float64")
    np.testing.assert_allclose(found, brute(model, x, y, x2, y2), rtol=1e-9, atol=1e-12)


def test_examples_tried_are_different_ones():
    x = torch.zeros(100, 5)
    x[40:] = torch.arange(60.0)[:, None]
    tried = trusting._probes(x)
    assert len(tried) == 3
    assert len(torch.unique(tried, dim=0)) == 3
    assert len(trusting._probes(torch.randn(100, 3, 8))) == 2
    assert len(trusting._probes(torch.zeros(4, 5))) == 3
    assert len(trusting._probes(torch.zeros(1, 5))) == 1


def test_a_network_of_single_precision():
    torch.manual_seed(0)
    model, (x, y) = Single(), data(FLAT, 6)
    rows = features(model, x, y)
    np.testing.assert_allclose(gram(model, x, y), rows @ rows.T, rtol=1e-4, atol=1e-5)


BATCH_NORM = {"track_running_stats": False}


@pytest.mark.parametrize(
    ("model", "shape", "sentence"),
    [
        (
            nn.Sequential(nn.Linear(5, 6), nn.BatchNorm1d(6, **BATCH_NORM), nn.Linear(6, 4)),
            FLAT,
            r"model of gram must accept its inputs; on 1 example\(s\) of shape \(5,\) it failed with ValueError: .*\.$",
        ),
        (
            image_net(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3, **BATCH_NORM), wide=48),
            IMAGE,
            "the same logits alone and in a batch in eval mode; they differ by .*without running statistics",
        ),
        (
            Net(lambda self, x: self.h(x) + torch.rand(len(x), 1), h=nn.Linear(5, 4)),
            FLAT,
            "the same logits alone and in a batch",
        ),
        (
            nn.Sequential(nn.TransformerEncoderLayer(5, 1, 7, dropout=0.0), nn.Flatten(), nn.Linear(40, 4)),
            SEQUENCE,
            "the same logits alone and in a batch",
        ),
        (nn.Linear(7, 4), FLAT, r"model of gram must accept its inputs; .*it failed with RuntimeError: .*\.$"),
        (Net(lambda self, x: self.h(x[:1]), h=nn.Linear(5, 4)), FLAT, r"one row of logits per example; got .*\(1, 4\)"),
        (
            Net(lambda self, t: self.h(self.emb(t).mean(1)), emb=nn.Embedding(4, 3), h=nn.Linear(3, 4)),
            TOKENS,
            r"on 150 example\(s\) .*it failed with IndexError",
        ),
        (
            Net(
                lambda self, x: self.h(torch.view_as_real(self.c(x + 0j)).sum(2)),
                c=nn.Linear(5, 5, dtype=torch.cfloat),
                h=nn.Linear(5, 4),
            ),
            FLAT,
            "must have real parameters",
        ),
    ],
    ids=["alone", "mixed", "random", "mixed by attention", "width", "one row", "later", "complex"],
)
@pytest.mark.filterwarnings("ignore:.*without a fast path:UserWarning")
def test_refused_in_one_sentence_and_no_file_is_left(model, shape, sentence, tmp_path):
    x, y = data(shape, 150)
    if shape == TOKENS:
        x[1, 0] = 9  # no token, and not among the examples that are tried
    with pytest.raises(InputError, match=sentence) as caught:
        gram(model, x, y, out=tmp_path / "kernel.npy")
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_refusal_leaves_the_file_that_was_there(tmp_path):
    model, (x, y) = nn.Linear(5, 4), data(FLAT, 6)
    before = gram(model, x, y, out=tmp_path / "kernel.npy")
    assert isinstance(before, np.memmap)
    with torch.no_grad():
        model.weight[0, 0] = math.inf
    for call in (gram, lambda *given, out: cross(*given, x, y, out=out)):
        with pytest.raises(InputError, match="finite"):
            call(nn.Sequential(model, nn.Linear(4, 4)), x, y, out=tmp_path / "kernel.npy")
    assert [path.name for path in tmp_path.iterdir()] == ["kernel.npy"]
    np.testing.assert_array_equal(np.load(tmp_path / "kernel.npy"), gram(nn.Linear(5, 4), x, y) * 0 + before)
