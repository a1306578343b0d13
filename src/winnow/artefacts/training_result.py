"""What came of one training, as a run keeps it."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path

from ..core.errors import StoreError
from ..core.files import atomic, json_ready, read_json

__all__ = ["Marks", "Result"]


@dataclass(frozen=True)
class Marks:
    """What one trained model reached on one test set; `examples` are the q_i where they were asked for."""

    value: float
    loss: float
    per_class: tuple[float, ...]
    examples: tuple[float, ...] = ()


@dataclass(frozen=True)
class Result:
    """What came of one training: steps and seconds of it, and the marks on each test set in order."""

    iterations: int
    seconds: float
    marks: tuple[Marks, ...]

    def save(self, path: str | Path) -> Path:
        """Write JSON, NaN as null."""
        about = {"winnow": "training", **asdict(self)}
        with atomic(path) as part:
            part.write_text(json.dumps(json_ready(about), sort_keys=True, allow_nan=False) + "\n")
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """Read what `save` wrote."""
        about = read_json(path)
        if not isinstance(about, dict) or about.get("winnow") != "training":
            raise StoreError(f"{path} does not hold the result of a training.")
        marks = tuple(
            Marks(
                m["value"],
                m["loss"],
                tuple(math.nan if v is None else v for v in m["per_class"]),
                tuple(m["examples"]),
            )
            for m in about["marks"]
        )
        return cls(about["iterations"], about["seconds"], marks)
