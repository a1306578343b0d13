"""A file of Signals that is read one example at a time, so that a million examples need no memory for it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..artefacts.half_dynamics import FROM, decoded
from ..core import registry
from ..core.errors import StoreError

__all__ = ["SignalFile", "signal_files"]

CURVES = ("losses", "probabilities", "correct")


class SignalFile:
    """One safetensors file of Signals; only the arrays and examples that are asked for are read."""

    def __init__(self, path: Path, name: str) -> None:
        from safetensors import SafetensorError, safe_open

        self.path, self.name = path, name
        try:
            with safe_open(str(path), framework="numpy") as file:
                self.about: dict[str, Any] = json.loads((file.metadata() or {})["about"])
                self.arrays = [one for one in file.keys() if one not in ("ids", "labels")]  # noqa: SIM118
                self.labelled = "labels" in file.keys()  # noqa: SIM118
        except (SafetensorError, KeyError, ValueError, OSError) as error:
            raise StoreError(f"expected 'signals' in {path}; found something else ({error}).") from None

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Where the signals came from."""
        return dict(self.about.get("provenance") or {})

    @cached_property
    def ids(self) -> NDArray[Any]:
        """Ids of its examples."""
        raw = self.whole("ids")
        return raw if self.about["ids"] == "i" else np.array(raw.tobytes().decode().split("\n"))

    def whole(self, name: str) -> NDArray[Any]:
        """One array."""
        from safetensors import safe_open

        with safe_open(str(self.path), framework="numpy") as file:
            return np.asarray(file.get_tensor(name))

    def of_classes(self, name: str, first: int, end: int) -> NDArray[Any]:
        """Some classes of an array whose last axis is the classes; seeds and examples come first."""
        from safetensors import safe_open

        with safe_open(str(self.path), framework="numpy") as file:
            return np.asarray(file.get_slice(name)[:, :, first:end], dtype=np.float32)

    def origin(self, name: str) -> str | None:
        """The array in the file that gives this one: itself, or dynamics in half precision; None if there is none."""
        return next((one for one in (name, FROM.get(name, name)) if one in self.arrays), None)

    def over_epochs(self, name: str, *, last: bool) -> NDArray[np.float32]:
        """One number per example: the mean over seeds, of the last epoch or over all, read one epoch at a time."""
        from safetensors import safe_open

        with safe_open(str(self.path), framework="numpy") as file:
            origin = self.origin(name) or name
            part = file.get_slice(origin)
            epochs = range(part.get_shape()[1])
            wanted = epochs[-1:] if last else epochs
            read = (part[:, at] if origin == name else decoded(name, np.asarray(part[:, at])) for at in wanted)
            total: Any = sum(np.asarray(values, dtype=np.float32).mean(axis=0) for values in read)
        return np.asarray(total / len(wanted), dtype=np.float32)

    def axes(self, name: str) -> tuple[Any, ...]:
        """The axes of an array."""
        known = (self.about.get("axes") or {}).get(name)
        return tuple(known) if known else tuple(registry.layout_of(name).axes)

    def at(self, place: int) -> Signals:
        """The signals of one example, at a place of `ids`."""
        from safetensors import safe_open

        found, labels = {}, None
        with safe_open(str(self.path), framework="numpy") as file:
            for name in self.arrays:
                axis = self.axes(name).index("examples")
                where = (*([slice(None)] * axis), slice(place, place + 1))
                found[name] = np.asarray(file.get_slice(name)[where])
            if self.labelled:
                labels = np.asarray(file.get_slice("labels")[place : place + 1])
        about = self.about
        return Signals(
            self.ids[place : place + 1],
            found,
            about["task"],
            labels,
            tuple(about["classes"]),
            tuple(about["epochs"]),
            about["planned_epochs"],
            axes={name: self.axes(name) for name in self.arrays},
        )

    def curves(self, place: int) -> Iterator[dict[str, Any]]:
        """The learning curves of one example, one entry per seed."""
        one = self.at(place)
        held = {name: one.array(name)[:, :, 0] for name in CURVES if name in one}
        for seed in range(max((values.shape[0] for values in held.values()), default=0)):
            numbers = {name: np.asarray(values[seed], dtype=np.float64).tolist() for name, values in held.items()}
            name = self.name if one.seeds == 1 else f"seed {seed}"
            unseen = "oof" in one and "fold" in name and one.array("oof").max() > 0
            yield {"name": f"{name}, not trained on it" if unseen else name, "epochs": list(one.epochs), **numbers}


def signal_files(run: Path) -> Iterator[SignalFile]:
    """The files of Signals of a run: all seeds together if there is such a file, otherwise one by one."""
    whole = run / "signals.safetensors"
    parts = sorted([*(run / "signals").glob("*.safetensors"), *(run / "recordings").glob("*.safetensors")])
    if whole.exists():
        yield SignalFile(whole, "seed 0")
        if any(SignalFile(whole, "").origin(name) for name in (*CURVES, "logits")):
            return
    for path in parts:
        if not path.stem.startswith("ensemble-"):
            stem = path.stem.replace("-", " ") if path.parent.name == "signals" else "the training"
            yield SignalFile(path, stem)
