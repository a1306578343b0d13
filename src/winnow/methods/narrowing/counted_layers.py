"""Layers that know how many neurons of the wide network each neuron of the narrow one stands for.

A hidden neuron j that stands for c_j neurons adds c_j v_j s(w_j x + b_j) to the next layer. The counts are a buffer of
the layer that reads the hidden vector, where they multiply what comes in: an activation may be a function, or one
module used in many places, and could not hold them. In the wide network each of the c_j copies has its own w, b and v,
and the gradient of each is 1/c_j of what the narrow network's loss gives. So the gradients of w_j, b_j and v_j are
divided by c_j on their way to the parameter, inside the graph: whatever optimiser works coordinate by coordinate, its
momentum, second moments and weight decay included, then does to the neuron what it does to every copy.

The weight of a layer between two narrowed vectors is divided by both counts. A layer finds those of the vector it
writes in the layer that reads it, to which it holds a reference that is no submodule: names in the `state_dict` stay
those of the plain layers, with `counts` added, and `deepcopy` and `to` keep the two together.
"""

from __future__ import annotations

from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["PLAIN", "CountedLayer", "CountedLinear", "attach", "detach"]


class _Shared(torch.autograd.Function):
    """A parameter times the counts of its inputs, whose gradient is that of one copy.

    Multiplying by the counts of the inputs would multiply the gradient by them too, and the rule divides it again;
    neither is done. What is left is the division by the counts of the outputs. Forward mode has no copies to speak of:
    it gives the derivative of what is computed.

    Counts may be more precise than the parameter, and the result has its type again.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(value: Tensor, before: Tensor | None, after: Tensor | None) -> Tensor:
        return value.clone() if before is None else (value * before).to(value.dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor | None, Tensor | None], output: Tensor) -> None:
        ctx.save_for_backward(inputs[2])
        ctx.save_for_forward(inputs[1])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (after,) = ctx.saved_tensors
        gradient = gradients[0]
        return gradient if after is None else (gradient / after).to(gradient.dtype), None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Tensor:
        (before,) = ctx.saved_tensors
        tangent: Tensor = tangents[0]
        return tangent.clone() if before is None else (tangent * before).to(tangent.dtype)


class CountedLayer(nn.Module):
    """What the counted layers have in common; mixed into torch's own layers.

    Attributes
    ----------
    counts
        How many neurons (or channels) of the wide network each incoming one stands for; none if what comes in was not
        narrowed.
    reader
        The layer that reads what this one writes, in a tuple so that it is no submodule; empty if that vector was not
        narrowed.
    shared
        Whether gradients are those of one copy; only comparisons want anything else.
    """

    counts: Tensor | None
    weight: Tensor
    bias: Any  # a parameter or none, which torch's own layers declare each in another way
    reader: tuple[CountedLayer, ...]
    shared: bool

    def effective(self) -> tuple[Tensor, Tensor | None]:
        """Weight and bias as the forward pass uses them."""
        shape = [1] * self.weight.dim()
        before = after = None
        if self.counts is not None:
            # One column an input of a linear layer that reads flattened channels: each channel fills several.
            each = self.weight.shape[1] // self.counts.numel()
            before = _precise(self.counts, self.weight).repeat_interleave(each).view(1, -1, *shape[2:])
        if self.reader and self.reader[0].counts is not None:
            after = _precise(self.reader[0].counts, self.weight)
        if not self.shared:
            return (self.weight if before is None else (self.weight * before).to(self.weight.dtype)), self.bias
        weight = _Shared.apply(self.weight, before, None if after is None else after.view(-1, *shape[1:]))
        bias = self.bias
        if bias is not None and after is not None:
            bias = _Shared.apply(bias, None, after)
        return weight, bias

    def _apply(self, fn: Any, recurse: bool = True) -> Self:
        """What `to`, `half` and the like do; counts stay precise enough for those of the widest layers."""
        counts = self.counts
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        if counts is not None and self.counts is not None and self.counts.dtype.itemsize < torch.float32.itemsize:
            self.counts = counts.to(self.counts.device, torch.float32)
        return self

    def extra_repr(self) -> str:
        """Torch's own line, with whether inputs and outputs are counted."""
        parts = [*(["inputs"] if self.counts is not None else []), *(["outputs"] if self.reader else [])]
        return f"{super().extra_repr()}, counted={'+'.join(parts)}"


class CountedLinear(CountedLayer, nn.Linear):
    """A linear layer with counted inputs, counted outputs, or both."""

    def forward(self, input: Tensor) -> Tensor:
        """As `torch.nn.Linear`."""
        return F.linear(input, *self.effective())


class CountedConv1d(CountedLayer, nn.Conv1d):
    """A convolution over sequences with counted channels."""

    def forward(self, input: Tensor) -> Tensor:
        """As `torch.nn.Conv1d`."""
        output: Tensor = self._conv_forward(input, *self.effective())
        return output


class CountedConv2d(CountedLayer, nn.Conv2d):
    """A convolution over images with counted channels."""

    def forward(self, input: Tensor) -> Tensor:
        """As `torch.nn.Conv2d`."""
        output: Tensor = self._conv_forward(input, *self.effective())
        return output


class CountedConv3d(CountedLayer, nn.Conv3d):
    """A convolution over volumes with counted channels."""

    def forward(self, input: Tensor) -> Tensor:
        """As `torch.nn.Conv3d`."""
        output: Tensor = self._conv_forward(input, *self.effective())
        return output


COUNTED: dict[type[nn.Module], type[CountedLayer]] = {
    nn.Linear: CountedLinear,
    nn.Conv1d: CountedConv1d,
    nn.Conv2d: CountedConv2d,
    nn.Conv3d: CountedConv3d,
}
PLAIN = tuple(COUNTED)


def attach(first: nn.Module, second: nn.Module, counts: Tensor, shared: bool) -> None:
    """Make a pair of layers count, in place: hooks and whatever else hangs on them stays."""
    reader, writer = _counted(second, shared), _counted(first, shared)
    reader.register_buffer("counts", _precise(counts.detach(), reader.weight).clone())
    writer.reader = (reader,)


def _precise(counts: Tensor, weight: Tensor) -> Tensor:
    """Counts where the weight is, of its type but at least float32: half a precision ends at 65,504."""
    return counts.to(weight.device, torch.promote_types(weight.dtype, torch.float32))


def detach(layer: CountedLayer) -> None:
    """Turn a counted layer into a plain one, in place, with the counts of its inputs folded into the weight."""
    layer.shared = False
    with torch.no_grad():
        layer.weight.copy_(layer.effective()[0])
    for name in ("reader", "shared"):
        delattr(layer, name)
    del layer.counts
    layer.__class__ = next(plain for plain, counted in COUNTED.items() if counted is type(layer))  # type: ignore[assignment]


def _counted(layer: nn.Module, shared: bool) -> CountedLayer:
    if not isinstance(layer, CountedLayer):
        layer.__class__ = COUNTED[type(layer)]
        assert isinstance(layer, CountedLayer)
        layer.register_buffer("counts", None)
        layer.reader = ()
    layer.shared = shared
    return layer
