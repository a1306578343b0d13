"""The whole state of a pretraining: tensors by name, and plain values beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from ..core.errors import StoreError
from ..core.files import atomic

__all__ = ["State"]


@dataclass(frozen=True, eq=False, repr=False)
class State:
    """Tensors by name, and plain values.

    Parameters
    ----------
    tensors
        Copies of what the training holds.
    about
        Steps done, seconds, settings: whatever JSON can say.
    """

    tensors: Mapping[str, torch.Tensor]
    about: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"State({len(self.tensors)} tensors, {self.about.get('steps', 0)} steps done)"

    def within(self, prefix: str) -> dict[str, torch.Tensor]:
        """The tensors whose names begin with `prefix` and a dot, without it."""
        return {name[len(prefix) + 1 :]: value for name, value in self.tensors.items() if name.startswith(prefix + ".")}

    def save(self, path: str | Path) -> Path:
        """Write one safetensors file; the plain values are JSON in its header."""
        from safetensors.torch import save_file

        with atomic(path) as part:
            save_file(dict(self.tensors), part, {"winnow": json.dumps(dict(self.about), sort_keys=True)})
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> State:
        """Read what `save` wrote."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, "pt") as file:
                about = json.loads((file.metadata() or {})["winnow"])
                return cls({name: file.get_tensor(name) for name in file.keys()}, about)  # noqa: SIM118
        except (OSError, SafetensorError, KeyError, ValueError) as error:
            raise StoreError(f"{path} does not hold the state of a pretraining: {error}.") from None
