"""Layers that know how many neurons of the wide network each neuron of the narrow one represents.

A hidden neuron j that represents c_j neurons adds c_j v_j s(w_j x + b_j) to the next layer. The counts are a buffer of
the layer that reads the hidden vector, where they multiply its input: an activation may be a function, or one module
used in many places, and could not hold them. In the wide network each of the c_j copies has its own w, b and v, and the
gradient of each is 1/c_j of the narrow network's. So the gradients of w_j, b_j and v_j are divided by c_j on their way
to the parameter, inside the graph. Any optimiser that works coordinate by coordinate, including its momentum, second
moments and weight decay, then moves the neuron as it would move every copy.

The weight of a layer between two narrowed vectors is divided by both counts. A layer finds the counts of the vector it
writes in the layer that reads it. It holds a reference to that layer which is not a submodule: names in the
`state_dict` stay those of the plain layers, plus `counts`, and `deepcopy` and `to` keep the two together.
"""

from __future__ import annotations

from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["PLAIN", "CountedLayer", "CountedLinear", "attach", "counted_as", "detach"]


class _Shared(torch.autograd.Function):
    """A parameter times the counts of its inputs, with the gradient of a single copy.

    Multiplying by the counts of the inputs would multiply the gradient by them too, and the rule divides by them again;
    neither is done. What remains is the division by the counts of the outputs. In forward mode there are no copies: it
    gives the derivative of what is computed.

    Counts may be more precise than the parameter; the result has the parameter's type.
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
    """Common base of the counted layers; mixed into torch's own layers.

    Attributes
    ----------
    counts
        How many neurons (or channels) of the wide network each input represents; None if the input was not narrowed.
    reader
        The layer that reads this layer's output, in a tuple so that it is not a submodule; empty if that vector was not
        narrowed.
    shared
        Whether gradients are those of a single copy; False only for comparisons.
    """

    counts: Tensor | None
    weight: Any  # a parameter, or None in some norms; each of torch's own layers declares it in a different way
    bias: Any
    reader: tuple[CountedLayer, ...]
    shared: bool

    def effective(self) -> tuple[Tensor, Tensor | None]:
        """Weight and bias as the forward pass uses them."""
        shape = [1] * self.weight.dim()
        before = after = None
        if self.counts is not None:
            # A linear layer that reads flattened channels has several columns per channel.
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
        """Like torch's, for `to`, `half` and so on; counts stay precise enough for the widest layers."""
        counts = self.counts
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        if counts is not None and self.counts is not None and self.counts.dtype.itemsize < torch.float32.itemsize:
            self.counts = counts.to(self.counts.device, torch.float32)
        return self

    def extra_repr(self) -> str:
        """Torch's own line, plus whether inputs and outputs are counted."""
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
    """Make a pair of layers count, in place, so that their hooks and attributes stay."""
    reader, writer = (counted_as(layer, COUNTED.get(type(layer)), shared) for layer in (second, first))
    reader.register_buffer("counts", _precise(counts.detach(), reader.weight).clone())
    writer.reader = (reader,)


def _precise(counts: Tensor, weight: Tensor) -> Tensor:
    """Counts on the weight's device, of its type but at least float32: half precision ends at 65,504."""
    return counts.to(weight.device, torch.promote_types(weight.dtype, torch.float32))


def detach(layer: CountedLayer) -> None:
    """Turn a counted layer into a plain one, in place, by folding the counts of its inputs into the weight."""
    layer.shared = False
    with torch.no_grad():
        layer.weight.copy_(layer.effective()[0])
    for name in ("reader", "shared"):
        delattr(layer, name)
    del layer.counts
    layer.__class__ = type(layer).__bases__[-1]  # torch's own, into which counting was mixed


def counted_as(layer: nn.Module, kind: type[CountedLayer] | None, shared: bool) -> CountedLayer:
    """The same layer as one of a counted kind, in place; `kind` is not needed if it is counted already."""
    if not isinstance(layer, CountedLayer):
        assert kind is not None
        layer.__class__ = kind
        assert isinstance(layer, CountedLayer)
        layer.register_buffer("counts", None)
        layer.reader = ()
    layer.shared = shared
    return layer
