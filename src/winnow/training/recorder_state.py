"""The state of a Recorder, for a checkpoint: arrays by name, checked before a Recorder goes on from them.

Of finished epochs it holds the dynamics by their names and `outputs`, one row per epoch, and the mean `predictions`; of
the unfinished one `seen`, and `now` (outputs) or `now losses` and so on with `infinite` (the first position whose loss
is too large, or -1); of all epochs `targets`, and whose are `known`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import InputError
from .logged_batch import OWNER, as_array

if TYPE_CHECKING:
    import torch

__all__ = ["fitting_state"]


def fitting_state(
    state: Mapping[str, ArrayLike | torch.Tensor], own: Mapping[str, NDArray[Any]], by_epoch: Sequence[str]
) -> dict[str, NDArray[Any]]:
    """Return copies of a state's arrays, of the types of a Recorder's own; raise if they do not fit it.

    Parameters
    ----------
    state
        What was given.
    own
        The state that the Recorder is in.
    by_epoch
        Arrays with one row per finished epoch, which may be more or fewer; `own` holds the first of them.
    """
    if isinstance(state, Mapping) and "infinite" in own:
        state = {"infinite": np.array([-1]), **state}  # older states have none
    if not isinstance(state, Mapping) or set(state) != set(own):
        raise InputError(
            f"state of {OWNER} must hold {', '.join(own)}; got "
            f"{', '.join(map(str, state)) if isinstance(state, Mapping) else type(state).__name__}."
        )
    given = {name: as_array(value) for name, value in state.items()}
    finished = len(given[by_epoch[0]])
    for name, value in own.items():
        shape = (finished, *value.shape[1:]) if name in by_epoch else value.shape
        if given[name].shape != shape or given[name].dtype.kind != value.dtype.kind:
            raise InputError(
                f"state of {OWNER} does not fit: {name} must be {value.dtype} of shape {shape}; got "
                f"{given[name].dtype} of shape {given[name].shape}."
            )
    return {name: np.array(given[name], dtype=value.dtype) for name, value in own.items()}
