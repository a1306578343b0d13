"""What a pruning will make: how many trainings of how many examples, and numbers of what size."""

from __future__ import annotations

import inspect
import math
import os
from dataclasses import dataclass

import numpy as np
import torch

from ..artefacts import Source
from ..engines import Engine
from ..engines.local import describe as describe_engine
from ..models import build, choose
from ..models.features import eval_mode, features_of
from ..pruning.request import Request
from ..selectors.method_string import needs_of
from ..signals.ensemble import BLOCK, LEFT_OUT
from ..signals.observe import observe
from ..training.feed import BUDGET

__all__ = ["INSIDE", "USUAL", "Counts", "counts_of", "network_of"]

INSIDE = 1 - LEFT_OUT / BLOCK  # share of the examples that a model of an ensemble trains on
USUAL = {name: parameter.default for name, parameter in inspect.signature(observe).parameters.items()}


@dataclass(frozen=True)
class Counts:
    """What `prune` will do with a source, counted as the rooms above do it; bytes are those of one example."""

    n: int
    kept: int
    epochs: int
    batch: int
    watched: int  # trainings on everything
    members: int  # trainings of the ensemble
    embedded: int  # passes for embeddings
    dynamics: bool
    gradients: bool
    projected: bool  # or their norms alone
    tangents: bool  # lpNTK features
    dim: int
    parameters: int
    activations: int  # numbers that the layers give
    example: int
    name: float  # of an id in memory and, as text, on disk
    text: float
    label: int
    recorded: int  # of one training
    seeded: int  # of one training, its gradients too
    scored: bool
    workers: int

    @property
    def held(self) -> int:
        """Bytes of all examples decoded; 0 where they are read batch by batch, for they exceed the budget."""
        return self.n * self.example if self.n * self.example <= BUDGET else 0

    @property
    def signals(self) -> int:
        """Bytes of everything observed, in memory or in files."""
        return self.n * (self.watched * self.seeded + self.embedded * 4 * self.dim + 2 * self.members)

    @property
    def jobs(self) -> int:
        """Jobs for the engine at one time: the ensemble's come after the others'."""
        return max(self.watched, self.members)


def network_of(source: Source, request: Request) -> torch.nn.Module | None:
    """What examples are put through; None for the raw inputs themselves."""
    model = request.model
    auto = isinstance(model, str) and model in ("auto", "raw")
    if source.task == "unlabelled":
        if auto or isinstance(model, torch.nn.Module):
            return None if auto else model
        return build(model, classes=max(2, len(source.classes)), shape=source.shape)
    name = choose(source.shape, source.kind, source.outputs) if model == "auto" else model
    return build(name, classes=source.outputs, shape=source.shape)


def counts_of(source: Source, request: Request, network: torch.nn.Module | None, kept: int, engine: Engine) -> Counts:
    """What a request will make of a source."""
    needs, epochs, seeds = needs_of(request.method.name), request.recipe.epochs, request.seeds
    classes = source.outputs if source.task == "classification" else 0
    dynamics = bool(needs & {"logits", "losses"})
    gradients = bool(needs & {"gradients", "gradient_norms"})
    tangents = "lpntk" in needs
    embedded = min(2, seeds) if "embeddings" in needs else 0  # by the first seed's network and by the second's
    watched = seeds if dynamics or gradients or tangents else embedded
    if source.task == "unlabelled":
        dynamics, watched, embedded = False, 0, min(1, len(needs))
    members = USUAL["ensemble"] if needs & {"ensemble_member", "ensemble_correct"} else 0
    recorded = 4 * epochs * (1 + classes) if dynamics else 0
    own = 4 * gradients + 4 * USUAL["gradient_dim"] * (("gradients" in needs) + tangents)
    text = 8.0 if source.ids.dtype.kind == "i" else len("\n".join(source.ids.tolist()).encode()) / len(source)
    dim, activations = _sizes(source, network, embedded)
    return Counts(
        n=len(source),
        kept=kept,
        epochs=epochs,
        batch=min(request.recipe.batch, len(source)),
        watched=watched,
        members=members,
        embedded=embedded,
        dynamics=dynamics,
        gradients=gradients,
        projected="gradients" in needs,
        tangents=tangents,
        dim=dim,
        parameters=0 if network is None else sum(p.numel() for p in network.parameters()),
        activations=activations,
        example=source.read(np.zeros(1, dtype=np.int64)).nbytes,
        name=source.ids.dtype.itemsize,
        text=text,
        label=0 if source.labels is None else source.labels.nbytes // len(source),
        recorded=recorded,
        seeded=recorded + own,
        scored=request.plan.score is not None and bool(needs),
        workers=workers_of(engine, max(watched, members)),
    )


def _sizes(source: Source, network: torch.nn.Module | None, embedded: int) -> tuple[int, int]:
    """Length of an embedding, if there are to be any, and how many numbers the layers give for one example."""
    if network is None:
        return math.prod(source.shape), 0
    seen: list[int] = []

    def count(_layer: torch.nn.Module, _inputs: object, output: object) -> None:
        seen.append(output.numel() if isinstance(output, torch.Tensor) else 0)

    hooks = [layer.register_forward_hook(count) for layer in network.modules() if not list(layer.children())]
    x = torch.zeros(2, *source.shape, device=next(network.parameters(), torch.zeros(0)).device)
    try:
        with eval_mode(network), torch.no_grad():
            dim = features_of(network, x).shape[1] if embedded else 0
            if not embedded:
                network(x)
    finally:
        for hook in hooks:
            hook.remove()
    return int(dim), sum(seen) // 2


def workers_of(engine: Engine, jobs: int) -> int:
    """Processes that will be at work: never more than there are jobs, one if the engine does not say."""
    wanted = getattr(engine, "workers", 1)
    if wanted is None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        wanted = cores // describe_engine(engine)["threads"]
    return max(1, min(int(wanted), jobs))
