"""Networks of four classes whose layers are not what they seem, and data for them."""

from __future__ import annotations

from types import MethodType

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import parametrizations


class Net(nn.Module):
    """Parts under names, and a forward pass that is given."""

    def __init__(self, run, **parts) -> None:
        super().__init__()
        self.run = run
        for name, part in parts.items():
            self.add_module(name, part)

    def forward(self, x):
        return self.run(self, x)


class Standardised(nn.Conv2d):
    def forward(self, x):
        w = self.weight - self.weight.mean((1, 2, 3), keepdim=True)
        return functional.conv2d(x, w / (w.std((1, 2, 3), keepdim=True) + 1e-3), self.bias)


class Activated(nn.BatchNorm2d):
    def forward(self, x):
        return functional.relu(super().forward(x))


class ChannelsLast(nn.LayerNorm):
    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class OwnSquare(torch.autograd.Function):
    """Of the old form, which torch.func refuses."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, slope):
        return 2 * slope * ctx.saved_tensors[0]


def hooked():
    layer = nn.Linear(5, 6)
    layer.register_forward_hook(lambda _module, _given, output: torch.tanh(output))
    return nn.Sequential(layer, nn.Linear(6, 4))


def patched():
    layer = nn.Linear(5, 6)
    layer.forward = MethodType(lambda self, x: functional.linear(x, self.weight**3, self.bias), layer)
    return nn.Sequential(layer, nn.Tanh(), nn.Linear(6, 4))


def image_net(*first, wide):
    return nn.Sequential(*first, nn.Flatten(), nn.Linear(wide, 4))


def tied(self, t):
    return functional.linear(torch.tanh(self.l(self.emb(t).mean(1))), self.emb.weight)


def reused(self, x):
    return self.h(torch.tanh(self.l(x) + functional.linear(x, self.l.weight)))


def placed(self, t):
    return self.h(torch.tanh(self.emb(t) * self.pos(torch.arange(t.shape[1]))).mean(1))


def folded(self, x):
    return self.h(torch.tanh(self.l(x.flatten(0, 1))).view(*x.shape[:2], -1).mean(1))


def one_after_the_other(self, x):
    return self.h(torch.stack([torch.tanh(self.l(one)) for one in x]).flatten(1))


def sequence_first(self, x):
    return self.h(torch.tanh(self.l(x.transpose(0, 1))).mean(0))


def with_block(self, x):
    return self.h(self.t(x.transpose(0, 1)).mean(0))


def recurrent(self, x):
    return self.h(self.r(x)[0][:, -1])


def odd(self, x):
    return self.h(OwnSquare.apply(self.l(x)) * self.scale.weight)


FLAT, IMAGE, SEQUENCE, TOKENS = (5,), (1, 6, 6), (8, 5), (8,)
NETS = {
    "conv with its own forward": (lambda: image_net(Standardised(1, 3, 3), nn.ReLU(), wide=48), IMAGE),
    "norm with an activation": (lambda: image_net(nn.Conv2d(1, 3, 3), Activated(3), wide=48), IMAGE),
    "norm over channels": (lambda: image_net(nn.Conv2d(1, 4, 3), ChannelsLast(4), wide=64), IMAGE),
    "weight_norm linear": (
        lambda: nn.Sequential(parametrizations.weight_norm(nn.Linear(5, 6)), nn.Tanh(), nn.Linear(6, 4)),
        FLAT,
    ),
    "weight_norm conv": (
        lambda: image_net(parametrizations.weight_norm(nn.Conv2d(1, 3, 3)), nn.Tanh(), wide=48),
        IMAGE,
    ),
    "hook that changes the output": (hooked, FLAT),
    "forward of one instance": (patched, FLAT),
    "table used as weights": (lambda: Net(tied, emb=nn.Embedding(4, 6), l=nn.Linear(6, 6)), TOKENS),
    "weights used twice": (lambda: Net(reused, l=nn.Linear(5, 6), h=nn.Linear(6, 4)), FLAT),
    "table of places": (lambda: Net(placed, emb=nn.Embedding(4, 6), pos=nn.Embedding(8, 6), h=nn.Linear(6, 4)), TOKENS),
    "folded positions": (lambda: Net(folded, l=nn.Linear(5, 6), h=nn.Linear(6, 4)), SEQUENCE),
    "examples in a loop": (lambda: Net(one_after_the_other, l=nn.Linear(5, 3), h=nn.Linear(24, 4)), SEQUENCE),
    "sequence first": (lambda: Net(sequence_first, l=nn.Linear(5, 6), h=nn.Linear(6, 4)), SEQUENCE),
    "transformer, sequence first": (
        lambda: Net(with_block, t=nn.TransformerEncoderLayer(5, 1, 7, dropout=0.0), h=nn.Linear(5, 4)),
        SEQUENCE,
    ),
    "lstm": (lambda: Net(recurrent, r=nn.LSTM(5, 6, batch_first=True), h=nn.Linear(6, 4)), SEQUENCE),
    "function that torch.func refuses": (
        lambda: Net(odd, l=nn.Linear(5, 6), scale=nn.Linear(6, 1, bias=False), h=nn.Linear(6, 4)),
        FLAT,
    ),
}
LOOPED = {"lstm", "function that torch.func refuses"}


def data(shape, n, seed=0):
    draw = torch.Generator().manual_seed(seed)
    x = torch.randint(0, 4, (n, *shape), generator=draw) if shape == TOKENS else torch.randn(n, *shape, generator=draw)
    return x, torch.arange(n) % 4


def routed(self, x):
    """A layer for the examples of one kind and another for the rest, as an expert is chosen."""
    first = x[:, 0] > 0
    h = x.new_zeros(len(x), 6)
    if first.any():
        h = h.index_put((first.nonzero()[:, 0],), self.one(x[first]))
    if (~first).any():
        h = h.index_put(((~first).nonzero()[:, 0],), self.two(x[~first]))
    return self.h(torch.tanh(h))


class Single(nn.Module):
    """Makes a tensor of single precision itself, so that it cannot be tried in double."""

    def __init__(self) -> None:
        super().__init__()
        self.l, self.h = nn.Linear(5, 6), nn.Linear(6, 4)

    def forward(self, x):
        return self.h(torch.tanh(self.l(x + torch.zeros(5)).float()) @ torch.eye(6))
