"""Files of trained weights: safetensors, or for reading a torch file with `weights_only=True`. Never pickle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ..core.errors import DataError, InputError, NotFoundError
from ..core.files import atomic

__all__ = ["load_weights", "read_weights", "write_weights"]


def load_weights(
    model: nn.Module, path: str | Path, name: str, *, without: Sequence[str] = (), grey: bool = False
) -> None:
    """Load the weights in a file into `model`; raise if any are missing, unknown or of another shape.

    The batch counters of batch norm may be missing, since they do not affect outputs. Files with the weights under
    `state_dict`, or under names that begin with `module.`, are accepted. Layers named in `without` keep their own
    weights, and the file may lack them. With `grey`, a first convolution for colours is summed over them for a network
    that takes one channel, which is the same as to repeat grey images.
    """
    file = _path(path, name)
    state = read_weights(file, name)
    wanted = model.state_dict()
    for held in (state, wanted):
        for key in [key for key in held if any(key.startswith(f"{layer}.") for layer in without)]:
            del held[key]
    first = next((key for key, value in wanted.items() if value.ndim == 4), None)
    if grey and first in state and state[first].ndim == 4 and wanted[first].shape[1] == 1:
        state[first] = state[first].sum(1, keepdim=True)
    missing = [key for key in wanted if key not in state and not key.endswith("num_batches_tracked")]
    foreign = [key for key in state if key not in wanted]
    if missing or foreign:
        parts = [
            f"{len(keys)} {what} (the first: {keys[0]})"
            for keys, what in ((missing, "missing"), (foreign, "unknown to it"))
            if keys
        ]
        raise InputError(f"weights of network {name!r} do not fit it: {file} has names {' and '.join(parts)}.")
    for key in (key for key in wanted if key in state):
        value = state[key]
        if value.shape != wanted[key].shape:
            raise InputError(
                f"weights of network {name!r} do not fit it: {key} in {file} has shape "
                f"{tuple(value.shape)}, the network needs {tuple(wanted[key].shape)}."
            )
        if value.is_floating_point() and not bool(torch.isfinite(value).all()):
            raise DataError(f"weights of network {name!r} must be finite; {key} in {file} is not.")
    model.load_state_dict(state, strict=False)


def read_weights(path: str | Path, name: str) -> dict[str, torch.Tensor]:
    """Read tensors by name from a file of weights for the network `name`."""
    file = _path(path, name)
    return _unwrapped(_read(file), file)


def write_weights(path: Path, state: Mapping[str, torch.Tensor], metadata: Mapping[str, str]) -> None:
    """Write tensors by name and text about them as safetensors."""
    from safetensors.torch import save_file

    with atomic(path) as part:
        save_file({name: value.contiguous() for name, value in state.items()}, part, metadata=dict(metadata))


def _path(path: str | Path, name: str) -> Path:
    if not isinstance(path, str | Path):
        raise InputError(f"weights of network {name!r} must be the path of a file; got {type(path).__name__}.")
    file = Path(path)
    if not file.is_file():
        raise NotFoundError(f"weights of network {name!r} must be an existing file; there is no file {file}.")
    return file


def _read(file: Path) -> Any:
    if file.suffix == ".safetensors":
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            return load_file(file)
        except (SafetensorError, OSError) as error:
            raise DataError(f"{file} is not a safetensors file: {error}.") from None
    try:
        return torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # torch's reader, given bytes that are not a torch file, may raise anything
        why = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise DataError(f"{file} is neither safetensors nor a torch file of plain weights: {why}.") from None


def _unwrapped(content: Any, file: Path) -> dict[str, torch.Tensor]:
    if isinstance(content, Mapping) and isinstance(content.get("state_dict"), Mapping):
        content = content["state_dict"]
    if (
        not isinstance(content, Mapping)
        or not content
        or not all(isinstance(value, torch.Tensor) for value in content.values())
    ):
        raise DataError(f"{file} must hold tensors by name; it does not.")
    state = {str(key): value for key, value in content.items()}
    if all(key.startswith("module.") for key in state):
        state = {key.removeprefix("module."): value for key, value in state.items()}
    return state
