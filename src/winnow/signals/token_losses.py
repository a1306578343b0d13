"""Token losses: what a causal language model has to learn from the response of each example. Needs no labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import registry
from ..core.errors import NotDefinedError
from ..models.causal_model import CausalModel
from ..training.loop import device_of
from .observation import Look

__all__ = ["token_losses"]


def _made_up(
    sizes: Mapping[str, int], labels: NDArray[np.int64], hardness: NDArray[np.float64], rng: np.random.Generator
) -> dict[str, NDArray[Any]]:
    """Hard responses are predicted worse; without the prompt, all are about as hard."""
    alone = 3 + 0.01 * rng.random(sizes["examples"])
    return {"token_losses": (1 + 2 * hardness).astype(np.float32), "token_losses_alone": alone.astype(np.float32)}


@registry.signal(
    arrays={"token_losses": ("examples",), "token_losses_alone": ("examples",)},
    when="data",
    tasks=registry.ALL_TASKS,
    paper="Li et al. 2024",
    make_up=_made_up,
    examples=("text",),
    model="hf:",
)
def token_losses(look: Look) -> dict[str, NDArray[Any]]:
    """Loss of the causal language model `hf:PATH` per token of the response, after its prompt and alone."""
    name, source = look.what.model, look.feed.source
    assert source.read_texts is not None
    if not isinstance(name, str) or not name.startswith("hf:"):
        raise NotDefinedError(
            "token_losses need a causal language model as the model: hf:PATH, a folder of transformers."
        )
    texts = [str(one) for one in source.read_texts(look.feed.order)]
    given, alone = CausalModel(name, device_of(look.what.recipe)).losses(texts)
    return {"token_losses": given, "token_losses_alone": alone}
