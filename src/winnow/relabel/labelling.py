"""Soft labels: what a trained classifier believes of each example, to be learned in place of its label.

With f the classifier's outputs and T the temperature, example x gets the probabilities softmax(f(x) / T). A student is
trained on them by the cross-entropy - sum_k p_k log q_k, which differs from the divergence KL(p || q) by the entropy of
p alone. The temperature only makes the targets softer; the student has none.

A classifier that was trained on these very labels hands on what it learned from all of them: that is distillation, and
a subset under its soft labels has seen more than the labels of the subset (Sun et al. 2024, Appendix I).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from .. import checks
from ..artefacts import Source, record
from ..artefacts.parquet import read_table, write_table
from ..artefacts.provenance import Provenance, plain
from ..artefacts.source import positions_of
from ..errors import InputError, NotDefinedError, WinnowError
from ..models import build, eval_mode
from ..models.identity import describe
from ..signals.embedding import scaling_given, weights_of
from ..store import fingerprint
from ..training import Feed, Recipe, predict

__all__ = ["SoftLabels", "soft_labels"]

SLACK = 1e-4  # how far from one the sum of a row in single precision may be


@dataclass(frozen=True, eq=False, repr=False)
class SoftLabels:
    """Probabilities of the classes for each example.

    Parameters
    ----------
    ids
        Ids of the examples.
    values
        One row an example, one column a class: none negative, each row summing to one.
    classes
        Names of the classes, in the order of the columns.
    seconds
        What making them took, for the ledger.
    prior_seconds
        What training the classifier took, if it was trained for this.
    provenance
        Where they came from.
    """

    ids: NDArray[Any]
    values: NDArray[np.float32]
    classes: tuple[str, ...]
    seconds: float = 0.0
    prior_seconds: float = 0.0
    provenance: Provenance = field(default_factory=dict)

    def __post_init__(self) -> None:
        owner = "SoftLabels"
        ids = checks.ids(owner, self.ids)
        values = checks.array("values", owner, self.values, ndim=2, rows=ids.size, dtype=np.float32)
        if isinstance(self.classes, str) or not isinstance(self.classes, Sequence | np.ndarray):
            raise InputError(f"classes of {owner} must be names in a sequence; got {type(self.classes).__name__}.")
        classes = tuple(str(name) for name in self.classes)
        if len(set(classes)) != len(classes):
            raise InputError(f"classes of {owner} must be different names; got {', '.join(classes[:5])}.")
        if values.shape[1] != len(classes) or len(classes) < 2:
            raise InputError(
                f"values of {owner} must have a column for each of the {len(classes)} classes, at least two; "
                f"got {values.shape[1]}."
            )
        if (values < 0).any():
            raise InputError(f"values of {owner} must not be negative; the smallest is {values.min():g}.")
        sums = values.sum(1, dtype=np.float64)
        worst = int(np.abs(sums - 1).argmax())
        if abs(sums[worst] - 1) > SLACK:
            raise InputError(f"values of {owner} must sum to 1 in each row; row {worst} sums to {sums[worst]:.6g}.")
        for name in ("seconds", "prior_seconds"):
            object.__setattr__(self, name, checks.number(name, owner, getattr(self, name), low=0))
        object.__setattr__(self, "ids", checks.frozen(ids))
        object.__setattr__(self, "values", checks.frozen(values))
        object.__setattr__(self, "classes", classes)
        object.__setattr__(self, "provenance", plain(self.provenance))

    def __len__(self) -> int:
        return int(self.ids.size)

    def __repr__(self) -> str:
        return f"SoftLabels({len(self)} examples, {len(self.classes)} classes)"

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of ids, probabilities and classes in canonical order."""
        order = np.argsort(self.ids, kind="stable")
        ids = "\n".join(map(str, self.ids[order].tolist())).encode()
        return fingerprint(ids, self.values[order].tobytes(), list(self.classes))

    def at(self, ids: ArrayLike) -> NDArray[np.float32]:
        """The probabilities of the examples with these ids, in the order given."""
        return self.values[positions_of(self.ids, ids, "SoftLabels")]

    def with_classes(self, classes: Sequence[str]) -> SoftLabels:
        """The same probabilities with columns in the order of `classes`, which must be the same names."""
        wanted = tuple(classes)
        if wanted == self.classes:
            return self
        if sorted(wanted) != sorted(self.classes):
            raise InputError(
                f"classes of SoftLabels are {len(self.classes)}, {', '.join(self.classes[:3])} ...; asked for "
                f"{len(wanted)}, {', '.join(wanted[:3])} ..."
            )
        columns = [self.classes.index(name) for name in wanted]
        return replace(self, values=self.values[:, columns], classes=wanted)

    def agreement(self, source: Source) -> float:
        """Share of the source's examples whose most probable class is their label."""
        if not isinstance(source, Source) or source.labels is None or source.task != "classification":
            raise InputError(f"source of SoftLabels.agreement must have the {len(self.classes)} classes of the labels.")
        return float((self.with_classes(source.classes).at(source.ids).argmax(1) == source.labels).mean())

    def save(self, path: str | Path) -> Path:
        """Write a parquet file with columns `id` and `p0`, `p1` ..., one a class."""
        columns = {"id": self.ids, **{f"p{k}": self.values[:, k] for k in range(len(self.classes))}}
        about = {
            "classes": list(self.classes),
            "seconds": self.seconds,
            "prior_seconds": self.prior_seconds,
            "provenance": dict(self.provenance),
        }
        write_table(path, "soft labels", columns, about)
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> SoftLabels:
        """Read what `save` wrote."""
        columns, about = read_table(path, "soft labels")
        return cls(
            ids=columns["id"],
            values=np.stack([columns[f"p{k}"] for k in range(len(about["classes"]))], axis=1),
            classes=tuple(about["classes"]),
            seconds=about["seconds"],
            prior_seconds=about["prior_seconds"],
            provenance=about["provenance"],
        )


def soft_labels(
    source: Source,
    prior: torch.nn.Module | str,
    *,
    weights: str | Path | None = None,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    temperature: float = 1.0,
    prior_seconds: float = 0.0,
    batch: int = 512,
    device: str = "auto",
) -> SoftLabels:
    """What a trained classifier believes of every example, in eval mode, without augmentation.

    The labels of the source play no part. `wn.evaluate(..., soft=...)` trains with them.

    Parameters
    ----------
    source
        The examples, with the classes that the classifier's outputs stand for, in the same order.
    prior
        A torch module, used with the weights it has; or the name of a network, with its `weights`.
    weights
        File of weights for a named network.
    mean, std
        How the classifier wants its inputs scaled, one number a channel (images in 0 to 1); measured on the source
        unless given.
    temperature
        What outputs are divided by before the softmax: above 1 softer, below 1 harder.
    prior_seconds
        What training the classifier took, if it was trained for this; the ledger counts it.
    batch
        Examples at a time.
    device
        Where to compute; `auto` takes a GPU if there is one.
    """
    if not isinstance(source, Source):
        raise InputError(f"source of soft_labels must be a Source (open it with wn.open); got {type(source).__name__}.")
    if source.task != "classification":
        raise NotDefinedError(f"soft_labels is defined for classes, and source {source.name!r} has none.")
    heat = checks.number("temperature", "soft_labels", temperature, low=0, open_low=True)
    checks.number("prior_seconds", "soft_labels", prior_seconds, low=0)
    checks.integer("batch", "soft_labels", batch, low=1)
    scaling = scaling_given("soft_labels", source, mean, std)
    network, about = _classifier(source, prior, weights)
    start = time.perf_counter()
    feed = Feed(source, scaling)
    outputs = _outputs(network, feed, Recipe(device=device), batch)
    shifted = outputs.astype(np.float64) / heat
    powers = np.exp(shifted - shifted.max(1, keepdims=True))
    back = np.argsort(feed.order, kind="stable")
    values = (powers / powers.sum(1, keepdims=True)).astype(np.float32)[back]
    asked = {**about, "mean": mean, "std": std, "temperature": heat}
    return SoftLabels(
        source.ids,
        values,
        source.classes,
        seconds=time.perf_counter() - start,
        prior_seconds=prior_seconds,
        provenance=record("soft_labels", asked, {"source": source.provenance}),
    )


def _classifier(source: Source, prior: object, weights: str | Path | None) -> tuple[torch.nn.Module, dict[str, Any]]:
    """The network, and what it is in plain values."""
    if isinstance(prior, torch.nn.Module):
        if weights is not None:
            raise InputError("weights of soft_labels are for a named network; a module has its own.")
        print_ = weights_of(prior)  # first: it refuses weights that are not there yet
        return prior, {"prior": describe(prior), "weights": print_}
    if not isinstance(prior, str):
        raise InputError(
            f"prior of soft_labels must be a torch module or the name of a network; got {type(prior).__name__}."
        )
    if weights is None:
        raise InputError(
            f"weights of soft_labels must be given for network {prior!r}: what an untrained one believes is noise."
        )
    network = build(prior, classes=len(source.classes), shape=source.shape, weights=weights)
    return network, {"prior": prior, "weights": weights_of(network)}


def _outputs(network: torch.nn.Module, feed: Feed, recipe: Recipe, batch: int) -> NDArray[np.float32]:
    """One output a class for every example, in canonical order, or a refusal."""
    kind, classes = type(network).__name__, len(feed.source.classes)
    try:
        with eval_mode(network):  # `predict` alone would wake layers that were frozen one by one
            outputs = predict(network, feed, recipe, batch)
    except WinnowError:
        raise
    except (RuntimeError, ValueError, TypeError, IndexError, AttributeError) as error:
        why = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise InputError(
            f"prior of soft_labels, a {kind}, cannot take examples of shape {feed.source.shape}: {why}."
        ) from None
    if outputs.shape != (len(feed), classes):
        raise InputError(
            f"prior of soft_labels, a {kind}, must give one output for each of the {classes} classes; "
            f"got shape {outputs.shape[1:]} an example."
        )
    bad = int((~np.isfinite(outputs)).any(1).sum())
    if bad:
        raise InputError(f"prior of soft_labels, a {kind}, gives NaN or infinite outputs for {bad} example(s).")
    return outputs
