"""The complete state of a training that is under way: tensors by name, and plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from ..core.layouts import Tensors
from ..core.serialiser import Saved

__all__ = ["State"]

LAYOUT = Tensors(group="tensors", torch=True, header="winnow", whole="about")


@dataclass(frozen=True, eq=False, repr=False)
class State(Saved, kind="state of a training", layout=LAYOUT, durations=("seconds",)):
    """Tensors by name, and plain values.

    Parameters
    ----------
    tensors
        Copies of the tensors of the training.
    about
        Steps done, settings: JSON-like values.
    seconds
        Seconds by stage; kept in the record of a step, not in the file.
    """

    tensors: Mapping[str, torch.Tensor]
    about: Mapping[str, Any] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"State({len(self.tensors)} tensors, {self.about.get('steps', 0)} steps done)"

    def within(self, prefix: str) -> dict[str, torch.Tensor]:
        """The tensors whose names start with `prefix` and a dot, with that prefix removed."""
        return {name[len(prefix) + 1 :]: value for name, value in self.tensors.items() if name.startswith(prefix + ".")}
