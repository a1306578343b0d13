"""Sources as features of a frozen network: the same examples and targets, one row of features each, computed once.

Inputs are scaled as the network expects, or by the training data, and test sets by the same numbers. Features are
computed in eval mode and without augmentation, in the order of ids, so that the order of a source changes no bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from ..artefacts import Source
from ..core.errors import InputError
from ..core.files import fingerprint
from ..core.progress import track
from ..models.frozen import Frozen
from ..models.modes import eval_mode
from ..training import Feed, Recipe, Scaling
from ..training.loop import device_of
from .embed import scaling_given
from .embedded_source import table_of

__all__ = ["featured"]

BATCH = 512  # examples per forward pass


@dataclass(frozen=True)
class _Features:
    """Reads features, all of which are computed on first use."""

    source: Source
    network: Frozen
    scaling: Scaling
    owner: str

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[np.float32]:
        return self.values[positions]

    @cached_property
    def values(self) -> NDArray[np.float32]:
        feed, device = Feed(self.source, self.scaling), device_of(Recipe())
        model = self.network.backbone.to(device)
        parts = []
        with eval_mode(model), torch.no_grad():
            for start in track(range(0, len(feed), BATCH), "features"):
                x = feed.inputs(np.arange(start, min(start + BATCH, len(feed)))).to(device)
                parts.append(self.network.features(x, self.owner).float().cpu().numpy())
        found = np.empty((len(feed), parts[0].shape[1]), dtype=np.float32)
        found[feed.order] = np.concatenate(parts)
        bad = int((~np.isfinite(found)).any(1).sum())
        if bad:
            raise InputError(
                f"backbone of {self.owner} gives NaN or infinite features for {bad} example(s) of source "
                f"{self.source.name!r}."
            )
        return found


def featured(
    owner: str, source: Source, tests: Mapping[str, Source], network: Frozen, recipe: Recipe | None = None
) -> tuple[Source, dict[str, Source]]:
    """Return the training data and the test sets as tables of features.

    Parameters
    ----------
    owner
        The calling public function, named in errors.
    source
        The training data.
    tests
        The test sets by name.
    network
        The network that computes the features.
    recipe
        How the head will be trained; raises if it augments, because features are fixed.
    """
    if recipe is not None and recipe.augment:
        raise InputError(f"augment of Recipe must be empty for a Frozen model of {owner}: its features are fixed.")
    width = network.width(source.shape, owner)
    scaling = scaling_given(owner, source, network.mean, network.std) or Scaling.of(source)
    print_ = fingerprint(network.fingerprint, scaling.mean.numpy().tobytes(), scaling.std.numpy().tobytes())

    def seen(part: Source) -> Source:
        return table_of(part, _Features(part, network, scaling, owner), width, print_)

    return seen(source), {name: seen(part) for name, part in tests.items()}
