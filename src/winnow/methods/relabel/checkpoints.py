"""A pretraining run to its end, from wherever an earlier process had come, with its checkpoints on the way."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ...artefacts.pretraining_state import State
from ...core.files import fingerprint
from ...core.progress import task
from ...core.run import Run
from ...training.loop import safe_kernels
from .pretrain_loop import Pretraining
from .pretrain_state import give_module, held_by

__all__ = ["AtCheckpoint", "Kept", "finish"]

SAVE_EVERY = 100  # steps between two saved states

AtCheckpoint = Callable[[int, nn.Module], Any]


@dataclass
class Kept:
    """What a pretraining leaves in its run: states on the way, the backbone at checkpoints, the state at the end."""

    run: Run
    settings: dict[str, Any]
    stops: list[int]
    start: State | None = None

    @property
    def name(self) -> str:
        """Where its steps lie in the run."""
        word = self.settings["method"] or "stage-1"
        return f"pretrain/{word}-seed-{self.settings['seed']}-{fingerprint(self.settings)[:8]}"

    def put(self, part: str, state: State, seconds: float = 0.0) -> None:
        """Keep a state under a name of its own."""
        name = f"{self.name}/{part}"
        self.run.put(name, state, seconds, key=self.settings, file=f"{name}.safetensors")

    def get(self, part: str) -> State | None:
        """A state that was kept under the same settings."""
        return self.run.get(f"{self.name}/{part}", State, key=self.settings)

    def drop(self, part: str) -> None:
        """Remove a state that has served."""
        if self.run.path is not None:
            for file in (f"steps/{self.name}/{part}.json", f"{self.name}/{part}.safetensors"):
                (self.run.path / file).unlink(missing_ok=True)


def finish(training: Pretraining, kept: Kept, begun: State | None, at_checkpoint: AtCheckpoint | None) -> None:
    """Train to the end, from wherever an earlier process, or stage 1, had come.

    Parameters
    ----------
    training
        As it was built.
    kept
        Where states are kept and found.
    begun
        The state of a stage 1 to go on from, unless an earlier process had come further.
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
                # A copy: whatever is done to it there, training goes on from the original.
                at_checkpoint(training.done, copy.deepcopy(training.backbone).eval())
    if kept.run.path is not None and kept.get("end") is None:
        kept.put("end", training.state(kept.settings), sum(training.seconds.values()))
    kept.drop("so-far")


def _active(training: Pretraining) -> bool:
    return training.accelerator is not None and training.accelerator.active


def _found(kept: Kept, begun: State | None) -> State | None:
    """The furthest state, unless a checkpoint asked for now was passed on the way to it and not kept."""
    found = kept.get("end") or kept.get("so-far")
    if found is None:
        return begun
    since = 0 if begun is None else int(begun.about["steps"])
    passed = [stop for stop in kept.stops if since < stop <= int(found.about["steps"])]
    return found if all(kept.get(f"step-{stop}") is not None for stop in passed) else begun


def _again(training: Pretraining, kept: Kept, at_checkpoint: AtCheckpoint | None) -> None:
    """Hand over the checkpoints that an earlier process passed."""
    for step in kept.stops:
        state = kept.get(f"step-{step}") if step <= training.done else None
        if state is not None and at_checkpoint is not None:
            twin = copy.deepcopy(training.backbone).eval()
            give_module(twin, state.within("backbone"))
            at_checkpoint(step, twin)
