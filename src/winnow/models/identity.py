"""What a model is, in plain values: for provenance, and for the key of a step that trains it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..store import fingerprint

if TYPE_CHECKING:
    import torch

__all__ = ["describe"]


def describe(model: Any) -> Any:
    """A name for a named network; class, size and a fingerprint of its layers for a module or a factory.

    Two models are told apart by their architecture, not by their weights: winnow initialises each afresh
    from the training seed.
    """
    if isinstance(model, str):
        return model
    if not hasattr(model, "state_dict") and callable(model):
        import torch

        with torch.random.fork_rng(devices=[]):  # looking at what it makes leaves the global stream alone
            made = model()
        return {"factory": getattr(model, "__qualname__", type(model).__name__), "makes": describe(made)}
    return _describe_module(model)


def _describe_module(model: torch.nn.Module) -> dict[str, Any]:
    shapes = {name: list(value.shape) for name, value in model.state_dict().items()}
    return {
        "module": type(model).__qualname__,
        "parameters": sum(p.numel() for p in model.parameters()),
        "layers": fingerprint(repr(model), shapes),
    }
