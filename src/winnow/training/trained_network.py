"""TrainedNetwork: a network with the scaling of its inputs, saved as one file of weights."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ..artefacts import Source
from ..core.errors import DataError
from ..core.files import atomic
from ..models import build
from .feed import Feed, Scaling
from .loop import predict
from .recipe import Recipe

__all__ = ["TrainedNetwork"]

KIND = "winnow trained network"


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """A trained network and how its inputs are scaled.

    The file is a safetensors file of the weights, which `wn.models.build(..., weights=file)` takes too; the scaling is
    in its metadata.

    Parameters
    ----------
    module
        The network, in eval mode.
    scaling
        How inputs, and the targets of a regression, are scaled.
    steps
        Optimiser steps of the training.
    about
        Its network by name (None for a module of your own), outputs, shape, classes and settings.
    seconds
        Seconds of the training, which a run records; the file alone does not hold them (NaN).
    """

    durations: ClassVar[tuple[str, ...]] = ("seconds",)

    module: torch.nn.Module
    scaling: Scaling
    steps: int
    about: dict[str, Any]
    seconds: float = math.nan

    def predict(self, source: Source) -> NDArray[np.float32]:
        """Return the outputs for each example of a source, in its order: logits, or values in the target's unit."""
        feed = Feed(source, self.scaling)
        found = predict(self.module, feed, Recipe())
        if source.task == "regression":
            found = found * self.scaling.target_std.numpy() + self.scaling.target_mean.numpy()
        back = np.empty_like(found)
        back[feed.order] = found
        return back

    def save(self, path: str | Path) -> Path:
        """Write the file, whole or not at all."""
        from safetensors.torch import save_file

        scaling = {name: getattr(self.scaling, name).tolist() for name in Scaling.__dataclass_fields__}
        about = {"kind": KIND, "steps": self.steps, "about": self.about, "scaling": scaling}
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        weights = {name: value.detach().cpu().clone().contiguous() for name, value in self.module.state_dict().items()}
        with atomic(Path(path)) as part:
            save_file(weights, part, metadata={"winnow": json.dumps(about)})
        return Path(path)

    @classmethod
    def load(cls, path: str | Path, model: Any = None) -> TrainedNetwork:
        """Read a file back; `model` is needed if the network has no name."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(str(path), "pt") as file:
                found = json.loads((file.metadata() or {}).get("winnow", "{}"))
        except (OSError, ValueError, SafetensorError) as error:
            raise DataError(f"{path} cannot be read as a trained network: {error}.") from None
        if found.get("kind") != KIND:
            raise DataError(f"{path} is not a network that winnow trained.")
        about = found["about"]
        what = about["model"] if model is None else model
        if what is None:
            raise DataError(f"{path} holds the weights of a module of your own; give it as model=.")
        kind = about.get("kind")
        module = build(what, classes=about["outputs"], shape=about["shape"], kind=kind, weights=path).eval()
        scaling = Scaling(**{name: torch.tensor(value) for name, value in found["scaling"].items()})
        return cls(module, scaling, found["steps"], about)
