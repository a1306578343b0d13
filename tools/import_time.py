"""How long imports take, each in fresh processes, with what came along.

    python -m tools.import_time {torch,winnow,names,prune}

measures one of them in this process and prints a JSON object: seconds on the clock and of the processor, and which of
the libraries that a first use should not load were loaded.

- `torch`: `import torch`.
- `winnow`: `import winnow`.
- `names`: `import winnow`, then `wn.open` and `wn.prune` are resolved.
- `prune`: first use. `wn.open` of a small array, then `wn.prune(keep=0.5)` until it builds its first optimiser: there
  training starts and the clock is stopped. So everything that a first call imports before it trains is in it, torch
  included; what torch itself loads when an optimiser is built is not.

`medians` measures the four in turn, again and again, so that a machine that is busy for a while slows each alike, and
with all files compiled beforehand, as they are where a package has been used once.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from .child import child
from .way import one_worker

__all__ = ["medians"]

WATCHED = ("numba", "matplotlib", "sklearn", "scipy", "pandas", "transformers", "torchvision")


class TrainingStarts(BaseException):
    """Raised where the first optimiser is built; no handler of ordinary errors may swallow it."""


def import_torch() -> None:
    """Import torch."""
    import torch  # noqa: F401


def import_winnow() -> None:
    """Import winnow."""
    import winnow  # noqa: F401


def resolve_names() -> None:
    """Import winnow and take hold of the two names that everyone starts with."""
    import winnow as wn

    assert callable(wn.open)
    assert callable(wn.prune)


def first_prune() -> None:
    """Call `wn.prune` until it starts to train."""
    import torch

    def stop(*_: Any, **__: Any) -> None:
        raise TrainingStarts

    torch.optim.Optimizer.__init__ = stop  # type: ignore[method-assign]
    import numpy as np

    import winnow as wn

    points = np.arange(120, dtype=float).reshape(40, 3)
    try:
        wn.prune(wn.open((points, np.arange(40) % 2)), keep=0.5, seeds=1, engine=one_worker())
    except TrainingStarts:
        return
    raise SystemExit("prune came to its end without building an optimiser; nothing was measured")


MEASURED: dict[str, Callable[[], None]] = {
    "torch": import_torch,
    "winnow": import_winnow,
    "names": resolve_names,
    "prune": first_prune,
}


def medians(source: Path, repeats: int) -> dict[str, Any]:
    """Median seconds of each, ratios to `import torch`, and what a first use loads."""
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in MEASURED}
    with tempfile.TemporaryDirectory() as compiled:
        for _ in range(1 + repeats):
            for name, found in runs.items():
                found.append(child("tools.import_time", [name], source, Path(compiled)))
    runs = {name: found[1:] for name, found in runs.items()}  # the first one compiled the files
    clock = {name: median(run["clock"] for run in found) for name, found in runs.items()}
    processor = {name: median(run["processor"] for run in found) for name, found in runs.items()}
    return {
        "clock_seconds": clock,
        "processor_seconds": processor,
        "ratio_to_torch": {name: clock[name] / clock["torch"] for name in MEASURED},
        "processor_ratio_to_torch": {name: processor[name] / processor["torch"] for name in MEASURED},
        "loaded_by_torch": runs["torch"][-1]["loaded"],
        "loaded_by_first_prune": runs["prune"][-1]["loaded"],
    }


def main(name: str) -> None:
    """Measure one in this process."""
    clock, processor = time.perf_counter(), time.process_time()
    MEASURED[name]()
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    loaded = [library for library in WATCHED if library in sys.modules]
    print(json.dumps({"clock": clock, "processor": processor, "loaded": loaded}))


if __name__ == "__main__":
    main(sys.argv[1])
