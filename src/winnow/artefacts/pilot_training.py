"""What one pilot training showed, as a run keeps it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import StoreError
from ..core.files import atomic

__all__ = ["Look"]


@dataclass(frozen=True, eq=False)
class Look:
    """What one pilot training showed.

    Attributes
    ----------
    size, steps, seconds
        Examples trained on, optimiser steps (0 for a linear student), seconds of training.
    correct
        Whether each held-out example was answered rightly, in the order of ids.
    margins
        Logit of the label minus the largest other one, for each held-out example.
    pool_margins
        The same for every example of the pool; empty unless the student was trained on all of it.
    """

    size: int
    steps: int
    seconds: float
    correct: NDArray[np.uint8]
    margins: NDArray[np.float32]
    pool_margins: NDArray[np.float32]

    def save(self, path: str | Path) -> Path:
        """Write one safetensors file."""
        from safetensors.numpy import save_file

        about = {"winnow": "pilot training", "size": self.size, "steps": self.steps, "seconds": self.seconds}
        arrays: dict[str, NDArray[Any]] = {
            "correct": self.correct,
            "margins": self.margins,
            "pool_margins": self.pool_margins,
        }
        with atomic(path) as part:
            save_file(arrays, part, metadata={"about": json.dumps(about, sort_keys=True)})
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> Look:
        """Read what `save` wrote."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(str(path), framework="numpy") as file:
                about = json.loads((file.metadata() or {})["about"])
                arrays = {name: file.get_tensor(name) for name in ("correct", "margins", "pool_margins")}
        except (OSError, KeyError, ValueError, SafetensorError) as error:
            raise StoreError(f"{path} does not hold a pilot training: {error}.") from None
        if about.get("winnow") != "pilot training":
            raise StoreError(f"{path} does not hold a pilot training.")
        return cls(about["size"], about["steps"], about["seconds"], **arrays)
