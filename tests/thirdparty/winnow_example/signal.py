"""Wobble: how much the loss of an example changes when its input is shaken."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from winnow.core import registry

__all__ = ["wobble"]

SHAKES = 2


def _made_up(sizes, labels, hardness, rng):
    """Hard examples wobble more."""
    shape = (sizes["seeds"], sizes["examples"], SHAKES)
    return {"wobble": hardness[None, :, None] + 0.01 * rng.normal(size=shape)}


@registry.signal(arrays={"wobble": ("seeds", "examples", SHAKES)}, tasks=("classification",), make_up=_made_up)
def wobble(look) -> dict[str, np.ndarray]:
    """Change of the loss of each example under a small and a larger shake of its input."""
    x = look.feed.inputs(np.arange(len(look.feed)))
    with torch.no_grad():
        still, *shaken = (
            functional.cross_entropy(look.model(x * (1 + 0.1 * step)), look.feed.targets, reduction="none")
            for step in range(SHAKES + 1)
        )
    return {"wobble": torch.stack([(loss - still).abs() for loss in shaken], dim=1).numpy()}
