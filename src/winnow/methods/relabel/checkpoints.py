"""Run a pretraining to its end, from where an earlier process stopped, with checkpoints on the way."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ...artefacts.training_state import State
from ...core.code_digest import coded
from ...core.files import fingerprint
from ...core.progress import task
from ...core.run import Run
from ...training.device import safe_kernels
from ...training.module_state import give_module, held_by
from .pretrain_loop import Pretraining

__all__ = ["AtCheckpoint", "Kept", "finish"]

SAVE_EVERY = 100  # steps between two saved states

AtCheckpoint = Callable[[int, nn.Module], Any]


@dataclass
class Kept:
    """The files of a pretraining in its run: intermediate states, the backbone at checkpoints, the final state."""

    run: Run
    settings: dict[str, Any]
    stops: list[int]
    start: State | None = None

    @property
    def name(self) -> str:
        """The name under which its steps are stored in the run."""
        word = self.settings["method"] or "stage-1"
        return f"pretrain/{word}-seed-{self.settings['seed']}-{fingerprint(self.settings)[:8]}"

    @property
    def _key(self) -> list[Any]:
        return coded(Pretraining, self.settings)

    def put(self, part: str, state: State, seconds: float = 0.0) -> None:
        """Store a state under a name."""
        name = f"{self.name}/{part}"
        self.run.put(name, state, seconds, key=self._key, file=f"{name}.safetensors")

    def get(self, part: str) -> State | None:
        """Return a state that was stored under the same settings."""
        return self.run.get(f"{self.name}/{part}", State, key=self._key)

    def drop(self, part: str) -> None:
        """Remove a state that is no longer needed."""
        if self.run.path is not None:
            for file in (f"steps/{self.name}/{part}.json", f"{self.name}/{part}.safetensors"):
                (self.run.path / file).unlink(missing_ok=True)


def finish(training: Pretraining, kept: Kept, begun: State | None, at_checkpoint: AtCheckpoint | None) -> None:
    """Train to the end, continuing from an earlier process or from stage 1.

    Parameters
    ----------
    training
        The training, as built.
    kept
        Where states are stored.
    begun
        The state of a stage 1 to continue from, if no earlier process got further.
    at_checkpoint
        Called at each checkpoint, also for those that an earlier process passed.
    """
    found = _found(kept, begun)
    if found is not None:
        training.restore(found)
        kept.start = kept.get("switch")
        _again(training, kept, at_checkpoint)
    devices = list(range(torch.cuda.device_count()))
    label = f"pretraining, {kept.settings['method'] or 'stage 1'}"
    with task(label, training.steps) as advance, torch.random.fork_rng(devices), safe_kernels(training.recipe):
        advance(training.done)
        while training.done < training.steps:
            waiting = training.shadow is not None and _active(training)
            training.step()
            advance(1)
            if waiting and not _active(training):
                kept.start = training.state(kept.settings)
                kept.put("switch", kept.start)
            if training.done in kept.stops:
                kept.put(f"step-{training.done}", State(held_by(training.backbone, "backbone")))
            if kept.run.path is not None and (training.done in kept.stops or training.done % SAVE_EVERY == 0):
                kept.put("so-far", training.state(kept.settings))
            if training.done in kept.stops and at_checkpoint is not None:
                # A copy, so that nothing done to it affects the training.
                at_checkpoint(training.done, copy.deepcopy(training.backbone).eval())
    if kept.run.path is not None and kept.get("end") is None:
        kept.put("end", training.state(kept.settings), sum(training.seconds.values()))
    kept.drop("so-far")


def _active(training: Pretraining) -> bool:
    return training.accelerator is not None and training.accelerator.active


def _found(kept: Kept, begun: State | None) -> State | None:
    """Return the latest state, unless a checkpoint requested now lies before it and was not stored."""
    found = kept.get("end") or kept.get("so-far")
    if found is None:
        return begun
    since = 0 if begun is None else int(begun.about["steps"])
    passed = [stop for stop in kept.stops if since < stop <= int(found.about["steps"])]
    return found if all(kept.get(f"step-{stop}") is not None for stop in passed) else begun


def _again(training: Pretraining, kept: Kept, at_checkpoint: AtCheckpoint | None) -> None:
    """Call `at_checkpoint` for the checkpoints that an earlier process passed."""
    for step in kept.stops:
        state = kept.get(f"step-{step}") if step <= training.done else None
        if state is not None and at_checkpoint is not None:
            twin = copy.deepcopy(training.backbone).eval()
            give_module(twin, state.within("backbone"))
            at_checkpoint(step, twin)
