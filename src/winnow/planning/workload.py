"""The workload of pruning: how many trainings on how many examples, and the size of what they record."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..artefacts import Source
from ..core import registry
from ..engines import Engine
from ..engines.named import describe as describe_engine
from ..models import build, choose
from ..models.modes import eval_mode
from ..models.representation import representation
from ..pruning.resolved_request import Request
from ..signals.ensemble import BLOCK, LEFT_OUT
from ..signals.observation import signals_for
from ..signals.observe import observe
from ..signals.text_rows import WIDTH as TEXT_WIDTH
from ..training.feed import BUDGET

__all__ = ["INSIDE", "TRAINED", "USUAL", "Counts", "counts_of", "network_of", "workers_of"]

INSIDE = 1 - LEFT_OUT / BLOCK  # share of the examples that each model of an ensemble is trained on
TRAINED = ("training", "epoch", "trained")  # when signals are observed during or after a training on all examples
USUAL = {name: parameter.default for name, parameter in inspect.signature(observe).parameters.items()}


@dataclass(frozen=True)
class Counts:
    """What `prune` will do with a source, as the earlier rooms do it; bytes are per example."""

    n: int
    kept: int
    epochs: int
    batch: int
    task: str
    entries: tuple[registry.Signal, ...]  # to be observed
    watched: int  # trainings on all examples
    members: int  # trainings of the ensemble
    embedded: int  # passes for arrays without seeds, such as embeddings
    sizes: Mapping[str, int]  # of one example in one training, by the name of the axis
    parameters: int
    activations: int  # outputs of all layers
    example: int
    name: float  # of an id in memory and, as text, on disk
    text: float
    label: int
    scored: bool
    workers: int

    def at(self, *moments: str) -> list[registry.Signal]:
        """The signals computed at these times."""
        return [entry for entry in self.entries if entry.when in moments]

    def bytes(self, entries: Iterable[registry.Signal], stacked: bool = True) -> int:
        """Bytes of signals per example in one training."""
        layouts = self.layouts(entries).values()
        return sum(layout.bytes(self.sizes) for layout in layouts if layout.stacked == stacked)

    def layouts(self, entries: Iterable[registry.Signal]) -> dict[str, registry.ArrayLayout]:
        """The arrays of these signals that the task has."""
        stored = [entry.packed if self._packs(entry) else entry.arrays for entry in entries]
        found = {name: layout for arrays in stored for name, layout in arrays.items()}
        return {name: layout for name, layout in found.items() if self.task in layout.tasks}

    def _packs(self, entry: registry.Signal) -> bool:
        """Whether a signal is stored in its smaller form: not beside logits, which are larger by far."""
        fits = any(self.task in layout.tasks for layout in entry.packed.values())
        return fits and not any("logits" in one.arrays for one in self.entries)

    @property
    def dynamics(self) -> bool:
        """Whether anything is recorded in a pass after each epoch."""
        return any(entry.cost_of({}).time != "once" for entry in self.at("training"))

    @property
    def gradients(self) -> bool:
        """Whether per-example gradients are computed."""
        return any(entry.cost_of({}).time == "gradient" for entry in self.entries)

    @property
    def recorded(self) -> int:
        """Bytes recorded during one training."""
        return self.bytes(self.at("training"))

    @property
    def under_way(self) -> int:
        """Bytes of the epoch that is being recorded, before it is stored in a smaller form."""
        sizes = {**self.sizes, "epochs": 1}
        packed = [entry for entry in self.at("training") if self._packs(entry)]
        return sum(layout.bytes(sizes) for entry in packed for layout in entry.arrays.values())

    @property
    def held(self) -> int:
        """Bytes of all decoded examples; 0 if they exceed the budget and are read batch by batch."""
        return self.n * self.example if self.n * self.example <= BUDGET else 0

    @property
    def signals(self) -> int:
        """Bytes of all signals, in memory or in files."""
        seen, asked, data = self.at(*TRAINED), self.at("ensemble"), self.at("data")
        alone = self.embedded * self.bytes(seen, stacked=False) + self.bytes(data, stacked=False) + self.bytes(data)
        return self.n * (self.watched * self.bytes(seen) + self.members * self.bytes(asked) + alone)

    @property
    def passes(self) -> int:
        """Jobs that read all examples and write a signals file, apart from those of the ensemble."""
        return (self.watched or self.embedded) + bool(self.at("data"))

    @property
    def jobs(self) -> int:
        """Jobs for the engine at one time; those of the ensemble come after the others."""
        return max(self.watched, self.members)


def network_of(source: Source, model: Any) -> torch.nn.Module | None:
    """The network that examples pass through; None for the raw inputs."""
    auto = isinstance(model, str) and model in ("auto", "raw")
    if source.task == "unlabelled":
        if auto or isinstance(model, torch.nn.Module):
            return None if auto else model
        return build(model, classes=max(2, len(source.classes)), shape=source.shape, kind=source.kind)
    name = choose(source.shape, source.kind, source.outputs) if model == "auto" else model
    return build(name, classes=source.outputs, shape=source.shape, kind=source.kind)


def counts_of(source: Source, request: Request, network: torch.nn.Module | None, kept: int, engine: Engine) -> Counts:
    """The workload of a request on a source."""
    epochs, seeds = request.recipe.epochs, request.seeds
    entries = signals_for(request.want)
    seen = [entry for entry in entries if entry.when in TRAINED]
    embedded = min(2, seeds) if not all(entry.stacked for entry in seen) else 0  # the first seed's and the second's
    watched = seeds if any(entry.stacked for entry in seen) else embedded
    if source.task == "unlabelled":
        watched, embedded = 0, min(1, len(seen))
    members = USUAL["ensemble"] if any(entry.when == "ensemble" for entry in entries) else 0
    text = 8.0 if source.ids.dtype.kind == "i" else len("\n".join(source.ids.tolist()).encode()) / len(source)
    dim, activations = _sizes(source, network, embedded)
    sizes = dict.fromkeys(("seeds", "models", "examples"), 1) | {"epochs": epochs, "embedding": dim}
    sizes |= {"classes": 0 if source.task == "unlabelled" else source.outputs, "projection": USUAL["gradient_dim"]}
    return Counts(
        n=len(source),
        kept=kept,
        epochs=epochs,
        batch=min(request.recipe.batch, len(source)),
        task=source.task,
        entries=tuple(entries),
        watched=watched,
        members=members,
        embedded=embedded,
        sizes=sizes,
        parameters=0 if network is None else sum(p.numel() for p in network.parameters()),
        activations=activations,
        example=source.read(np.zeros(1, dtype=np.int64)).nbytes,
        name=source.ids.dtype.itemsize,
        text=text,
        label=0 if source.labels is None else source.labels.nbytes // len(source),
        scored=request.plan.score is not None and bool(request.plan.needs),
        workers=workers_of(engine, max(watched, members)),
    )


def _sizes(source: Source, network: torch.nn.Module | None, embedded: int) -> tuple[int, int]:
    """Length of an embedding, if any is needed, and the outputs of all layers for one example."""
    if network is None:
        return TEXT_WIDTH if source.kind == "text" else math.prod(source.shape), 0
    seen: list[int] = []

    def count(_layer: torch.nn.Module, _inputs: object, output: object) -> None:
        seen.append(output.numel() if isinstance(output, torch.Tensor) else 0)

    hooks = [layer.register_forward_hook(count) for layer in network.modules() if not list(layer.children())]
    dtype = torch.int64 if source.kind == "text" else torch.float32
    x = torch.zeros(2, *source.shape, dtype=dtype, device=next(network.parameters(), torch.zeros(0)).device)
    try:
        with eval_mode(network), torch.no_grad():
            network(x)
    finally:
        for hook in hooks:
            hook.remove()
    return _width(network, x) if embedded else 0, sum(seen) // 2


def _width(network: torch.nn.Module, x: torch.Tensor) -> int:
    """How many numbers represent an example."""
    drawn = torch.Generator().manual_seed(0)
    filled = torch.randn(x.shape, generator=drawn) if x.is_floating_point() else torch.ones(x.shape)
    return representation(network, filled.to(x)).width


def workers_of(engine: Engine, jobs: int) -> int:
    """The number of worker processes: at most one per job; one if the engine does not say."""
    wanted = getattr(engine, "workers", 1)
    if wanted is None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        wanted = cores // describe_engine(engine)["threads"]
    return max(1, min(int(wanted), jobs))
