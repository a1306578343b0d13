"""Code that loads a saved subset, ready to copy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..artefacts import Subset

__all__ = ["loading", "opening", "origin_of"]

_NAMED_COLUMNS = ("csv", "parquet", "npz")  # adapters that record which column held the labels


def loading(subset: Subset, path: Path, data: str, task: str) -> list[dict[str, str]]:
    """Code for torch, scikit-learn and HF datasets.

    Parameters
    ----------
    subset
        The subset the code loads.
    path
        Its file.
    data
        The arguments of `wn.open`, as `opening` writes them; empty if they cannot be written as code.
    task
        The task of the source, which decides the target.
    """
    note = "  # the data the subset was chosen from" + ("" if data else ": a path, a name, arrays, a dataset")
    head = (
        f"import winnow as wn\n\nsource = wn.open({data or 'DATA'}){note}\n"
        f"subset = wn.Subset.load({path.as_posix()!r})\n"
    )
    weights = ", sample_weight=subset.weights" if subset.weighted else ""
    draws = "draws by weight" if subset.weighted else "shuffles; seeded and resumable"
    own = (
        "\n# if your own dataset holds the same examples in the order of the source:\n"
        "# part = subset.to_torch(my_dataset, source=source)\n"
    )
    fit = "X" if task == "unlabelled" else "X, y"
    target = "" if task == "unlabelled" else "y = source.labels[where]\n"
    return [
        {
            "name": "PyTorch",
            "key": "torch",
            "code": "from torch.utils.data import DataLoader\n\n"
            + head
            + "\npart = subset.to_torch(source)\n"
            + f"loader = DataLoader(part, batch_size=128, sampler=subset.sampler(seed=0))  # {draws}\n"
            + own,
        },
        {
            "name": "scikit-learn",
            "key": "sklearn",
            "code": head + "\nwhere = subset.indices(source)\n"
            "X = source.fetch(subset.ids).reshape(len(subset), -1)\n" + target + f"model.fit({fit}{weights})\n",
        },
        {
            "name": "Hugging Face datasets",
            "key": "hf",
            "code": head + "\n# dataset: a datasets.Dataset with the same examples in the order of the source\n"
            "part = dataset.select(subset.indices(source))\n"
            + (
                "weights = subset.weights  # in the order of part, for your loss or sampler\n"
                if subset.weighted
                else ""
            ),
        },
    ]


def origin_of(provenance: Any) -> Mapping[str, Any] | None:
    """The source an artefact was made from, wherever its provenance records it."""
    if not isinstance(provenance, Mapping):
        return None
    if isinstance(provenance.get("origin"), Mapping) and "fingerprint" in provenance:
        return provenance
    inputs = provenance.get("inputs", provenance)
    parts = inputs.values() if isinstance(inputs, Mapping) else inputs if isinstance(inputs, list) else ()
    return next((found for part in parts if (found := origin_of(part)) is not None), None)


def opening(source: Mapping[str, Any] | None) -> str:
    """The arguments that make `wn.open` open a recorded source again; empty for data that was in memory.

    Parameters
    ----------
    source
        A source's provenance.
    """
    if source is None:
        return ""
    origin = source["origin"]
    old = "digits" if origin.get("adapter") == "digits" else None  # winnow 0.1 recorded no `builtin`
    what = origin.get("builtin") or old or origin.get("path")
    if not isinstance(what, str):
        return ""
    given: dict[str, Any] = {}
    if origin.get("adapter") in _NAMED_COLUMNS and isinstance(origin.get("labels"), str | list):
        given["labels"] = origin["labels"]
    if origin.get("split") not in (None, "train"):
        given["split"] = origin["split"]
    if isinstance(origin.get("size"), int):
        given["size"] = origin["size"]
    return ", ".join([repr(what), *(f"{key}={value!r}" for key, value in given.items())])
