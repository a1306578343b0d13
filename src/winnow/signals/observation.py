"""One observation: what to record, and the trainings that record it, each a job of its own."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..artefacts import Signals, Source
from ..core.errors import DivergedError
from ..core.run import Run
from ..core.seeds import number as seed_number
from ..engines import Engine, Job, run_jobs
from ..methods.lpntk.signal import tangent_features
from ..models import build
from ..models.identity import describe
from ..training import Feed, Recipe, predict, train
from ..training.recorder import Recorder
from .embed import embeddings_of
from .ensemble import memberships
from .gradients import example_gradients

__all__ = ["EMBEDDINGS", "Observation", "observe_ensemble", "observe_seed"]


EMBEDDINGS = ("embeddings", "embeddings_again")  # by the first seed's network, and by the second's


@dataclass(frozen=True)
class Observation:
    """What to record, and how; everything but the source that decides the numbers."""

    model: Any
    recipe: Recipe
    want: tuple[str, ...]
    mode: str
    gradient_epoch: int
    gradient_dim: int
    ensemble: int
    layer: str | None
    seed: int

    def settings(self) -> dict[str, Any]:
        """Plain values, for provenance and keys."""
        plain = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {**plain, "model": describe(self.model), "recipe": self.recipe.settings(), "want": list(self.want)}


def _network(source: Source, what: Observation, *names: str | int) -> torch.nn.Module:
    """A fresh network for these words of the seed's stream."""
    return build(what.model, classes=source.outputs, shape=source.shape, seed=seed_number(what.seed, "init", *names))


def observe_seed(job: tuple[Source, Observation, int, str | None]) -> Signals:
    """One training, watched."""
    source, what, which, embeddings = job
    feed = Feed(source)
    model = _network(source, what, which)
    arrays: dict[str, NDArray[Any]] = {}
    dynamics = bool({"logits", "losses"} & set(what.want))
    recorder = Recorder(
        len(feed),
        source.outputs,
        ids=feed.ids,
        task="regression" if source.task == "regression" else "classification",
        planned_epochs=what.recipe.epochs,
    )
    targets = feed.targets.numpy() if feed.targets is not None else np.zeros(0)

    def after_batch(positions: NDArray[np.int64], output: torch.Tensor) -> None:
        recorder.log(positions, output, targets[positions])

    def after_epoch(epoch: int, trained: torch.nn.Module) -> None:
        if dynamics:
            if what.mode == "eval":
                output = predict(trained, feed, what.recipe)
                if not np.isfinite(output).all():
                    raise DivergedError(
                        f"training diverged in epoch {epoch}: outputs are not finite; lower lr of Recipe."
                    )
                recorder.log(np.arange(len(feed)), output, targets)
            recorder.end_epoch()
        if epoch == what.gradient_epoch and {"gradients", "gradient_norms"} & set(what.want):
            dim = what.gradient_dim if "gradients" in what.want else None
            norms, projected = example_gradients(trained, feed, what.recipe, dim, what.seed)
            arrays["gradient_norms"] = norms[None]
            if projected is not None:
                arrays["gradients"] = projected[None]

    train(
        model,
        feed,
        what.recipe,
        seed_number(what.seed, "training", which),
        after_batch=after_batch if dynamics and what.mode == "train" else None,
        after_epoch=after_epoch,
    )
    if embeddings is not None:
        arrays[embeddings] = embeddings_of(model, feed, what.recipe, what.layer)
    if "lpntk" in what.want:
        arrays["lpntk"] = tangent_features(model, feed, what.gradient_dim, what.seed)[None]
    epochs: tuple[int, ...] = ()
    if dynamics:
        seen = recorder.signals()
        arrays |= dict(seen.arrays)
        epochs = seen.epochs
    labels = None if source.labels is None else source.labels[feed.order]
    return Signals(feed.ids, arrays, source.task, labels, source.classes, epochs, what.recipe.epochs)


def observe_ensemble(source: Source, what: Observation, run: Run, engine: Engine, key: list[Any]) -> Signals:
    """The trainings of a subset ensemble, joined."""
    member = memberships(len(source), what.ensemble, what.seed)
    jobs = [
        Job(
            f"observe/ensemble-{index}",
            (source, what, index, member[index]),
            [*key, "ensemble", index],
            f"signals/ensemble-{index}.safetensors",
        )
        for index in range(what.ensemble)
    ]
    return Signals.stack(run_jobs(run, engine, _observe_member, jobs, Signals, "ensemble"), {})


def _observe_member(job: tuple[Source, Observation, int, NDArray[np.uint8]]) -> Signals:
    """One model of the ensemble: trained on its members, asked about everyone."""
    source, what, index, member = job
    inside = Feed(source.at(source.order[member.astype(bool)]))
    everyone = Feed(source, inside.scaling)
    model = _network(source, what, "ensemble", index)
    train(model, inside, what.recipe, seed_number(what.seed, "training", "ensemble", index))
    labels = source.labels[everyone.order] if source.labels is not None else None
    right = predict(model, everyone, what.recipe).argmax(1) == labels
    arrays = {"ensemble_member": member[None], "ensemble_correct": right.astype(np.uint8)[None]}
    return Signals(everyone.ids, arrays, source.task, labels, source.classes)
