"""Checkpoints of a training in a run directory: after a kill, the same command goes on from the last one.

A checkpoint holds everything that decides the rest of the training: weights and buffers, the optimiser's state, torch's
random numbers, those of the augmentation, the place in the epoch, the sampler, and what is recorded beside it. So the
result is the same to the last bit, wherever the training was cut. One is written every few minutes (`checkpoint`
of Recipe); shorter trainings write none. The file holds no code, and a digest of its own content: a damaged one, or one
of another step, is not used.

None is written if something cannot be put back: signals of others that do not say how, or a network that changes plain
values of its own, such as a counter, while it trains.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch

from ..artefacts.training_state import State
from ..core.errors import StoreError
from ..core.files import Pieces, fingerprint, plain, written_files
from ..core.unfinished import Piece, next_piece
from .module_state import give_module, give_optimizer, held_by, remembered_by

__all__ = ["Checkpoint", "Moment", "Resumable", "keep_state", "state_of"]

MINUTE = 60.0
NUMBERS = (bool, int, float, str, type(None))


@runtime_checkable
class Resumable(Protocol):
    """Anything whose state is arrays by name, such as a Recorder."""

    def state_dict(self) -> Mapping[str, Any]:
        """Return the state as arrays and plain values by name."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state."""
        ...


@dataclass(frozen=True)
class Moment:
    """Where a training is.

    Parameters
    ----------
    done
        Optimiser steps.
    epoch, batch
        Finished epochs, and batches of the current one.
    seconds
        Seconds of training.
    augment
        The state of the augmentation's random numbers; None before the first batch of an epoch.
    """

    done: int = 0
    epoch: int = 0
    batch: int = 0
    seconds: float = 0.0
    augment: dict[str, Any] | None = None


class Checkpoint:
    """Saves a training now and then, and finds where an earlier process left it.

    Parameters
    ----------
    model, optimizer
        What is trained, and by what.
    beside
        What else has a state: the sampler, and what is recorded. None if that cannot be saved.
    minutes
        Minutes between two checkpoints; 0 for none.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        beside: Sequence[Any] | None,
        minutes: float,
    ) -> None:
        self._model, self._optimizer = model, optimizer
        self._names = {name: value for name, value in model.named_parameters() if value.requires_grad}
        self._plain = _plain_values(model)
        piece = next_piece()
        able = beside is not None and all(isinstance(one, Resumable) for one in beside) and _saves_all(model)
        self._piece: Piece | None = piece if able and minutes > 0 else None
        self._beside = list(beside or ())
        self._every = minutes * MINUTE
        self._last = time.monotonic()

    def found(self) -> Moment:
        """Put everything back as an earlier process left it, and return where the training is."""
        state = None if self._piece is None else state_of(self._piece)
        if state is None:
            return Moment()
        give_module(self._model, state.within("model"))
        give_optimizer(self._optimizer, self._names, state.within("optimizer"))
        for place, one in enumerate(self._beside):
            arrays = {name: value.numpy() for name, value in state.within(f"beside-{place}").items()}
            one.load_state_dict({**arrays, **state.about["beside"][place]})
        torch.set_rng_state(state.tensors["torch"])
        devices = state.within("cuda")
        if devices and len(devices) == torch.cuda.device_count():
            torch.cuda.set_rng_state_all([devices[str(k)] for k in range(len(devices))])
        return Moment(**state.about["moment"])

    def due(self) -> bool:
        """Whether it is time for a checkpoint."""
        return self._piece is not None and time.monotonic() - self._last >= self._every

    def save(self, moment: Moment) -> None:
        """Write a checkpoint, in place of the one before."""
        if self._piece is None:
            return
        if _plain_values(self._model) != self._plain:  # the network has a state that nobody can put back
            self._piece = None
            return
        tensors = held_by(self._model, "model") | remembered_by(self._optimizer, self._names)
        tensors["torch"] = torch.get_rng_state()
        if torch.cuda.is_available():
            tensors |= {f"cuda.{k}": value for k, value in enumerate(torch.cuda.get_rng_state_all())}
        words: list[dict[str, Any]] = []
        for place, one in enumerate(self._beside):
            words.append({})
            for name, value in one.state_dict().items():
                if isinstance(value, np.ndarray):
                    tensors[f"beside-{place}.{name}"] = torch.from_numpy(np.ascontiguousarray(value))
                else:
                    words[-1][name] = plain(value)
        keep_state(self._piece, tensors, {"moment": asdict(moment), "beside": words})
        self._last = time.monotonic()


def keep_state(piece: Piece, tensors: Mapping[str, torch.Tensor], about: Mapping[str, Any]) -> None:
    """Write how far a piece of work is, in place of what was written before."""
    marked = {**about, "key": piece.step.key, "spent": piece.step.spent}
    with written_files():  # not a file of the step
        State(tensors, {**marked, "check": _check(State(tensors, marked))}).save(piece.file)


def state_of(piece: Piece) -> State | None:
    """Return how far an earlier process came with a piece of work; None if it is damaged or of another step."""
    if not piece.file.is_file():
        return None
    try:
        state = State.load(piece.file)
        if state.about["key"] != piece.step.key or state.about["check"] != _check(state):
            return None
        piece.step.earlier = max(piece.step.earlier, float(state.about["spent"]))
    except (StoreError, KeyError):
        return None
    return state


def _check(state: State) -> str:
    """A digest of everything in a checkpoint but the digest itself."""
    about = {name: value for name, value in plain(state.about).items() if name != "check"}
    return fingerprint(about, *(part for name in sorted(state.tensors) for part in (name, _bytes(state.tensors[name]))))


def _bytes(tensor: torch.Tensor) -> Pieces:
    rows: Any = tensor.contiguous().reshape(-1).view(torch.uint8).numpy()  # not copied
    return Pieces(rows.size, lambda: [rows.data])


def _saves_all(model: torch.nn.Module) -> bool:
    """Whether the tensors of a network are all of its state, as far as it says."""
    draws = (torch.Generator, np.random.Generator)
    for part in model.modules():
        if type(part).get_extra_state is not torch.nn.Module.get_extra_state:
            return False
        if any(isinstance(value, draws) for value in vars(part).values()):
            return False
    return True


def _plain_values(model: torch.nn.Module) -> dict[str, dict[str, Any]]:
    """The numbers and words that the parts of a network hold as attributes."""
    return {
        name: {word: value for word, value in vars(part).items() if isinstance(value, NUMBERS) and word != "training"}
        for name, part in model.named_modules()
    }
