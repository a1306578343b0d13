"""Items of torch datasets: a pair of input and target, an input alone, or a dictionary with both.

In a dictionary the input is found under a usual key, or under the one that `columns=` names; the target likewise, or
under the key that `labels=` names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from ..core.errors import DataError, InputError
from ..core.parameter_names import of
from .arrays import to_numpy
from .assembly import OpenRequest
from .images import from_pillow

__all__ = ["ItemForm", "item_form", "number_of"]

INPUTS = (
    "image", "images", "img", "pixel_values", "input", "inputs", "input_values", "x", "features", "embedding",
    "embeddings", "vector", "text", "sentence", "data", "jpg", "png", "npy",
)  # fmt: skip
TARGETS = ("label", "labels", "target", "targets", "y", "class", "cls")
NAMED = 6  # how many keys a message names


@dataclass(frozen=True)
class ItemForm:
    """Where input and target are in an item.

    Parameters
    ----------
    input, target
        Keys of dictionaries; None for pairs and single inputs, or if there is no target.
    """

    input: str | None = None
    target: str | None = None

    def pair(self, item: Any, position: int, owner: str) -> tuple[Any, Any]:
        """Return input and target of one item; None if there is no target."""
        if self.input is not None:
            for key in (self.input, self.target):
                if not isinstance(item, Mapping) or (key is not None and key not in item):
                    raise InputError(f"item {position} of {owner} must be a dictionary with the key {key!r}.")
            return item[self.input], None if self.target is None else item[self.target]
        if isinstance(item, (tuple, list)):
            if not item:
                raise DataError(f"item {position} of {owner} is empty; it must be an input, or an input and a target.")
            return item[0], item[1] if len(item) > 1 else None
        return item, None

    def array(self, item: Any, position: int, owner: str) -> NDArray[Any]:
        """Return the input of one item as an array."""
        value = self.pair(item, position, owner)[0]
        if hasattr(value, "convert") and hasattr(value, "mode"):
            return from_pillow(value, f"{position} of {owner}")
        array = to_numpy(value, f"item {position}", owner)
        if array.dtype.kind not in "biuf":
            raise InputError(
                f"item {position} of {owner} must be an array of numbers or an image; got {type(value).__name__}."
            )
        return array


def item_form(first: Any, asked: OpenRequest, owner: str) -> ItemForm:
    """Decide by the first item where inputs and targets are.

    Parameters
    ----------
    first
        The first item.
    asked
        The options of `wn.open`.
    owner
        The owner of the items, named in messages.
    """
    if not isinstance(first, Mapping):
        asked.refuse("columns", of="datasets whose items are not dictionaries")
        return ItemForm()
    keys = [key for key in first if isinstance(key, str)]
    asked.refuse("drop", of="datasets of dictionaries, of which one key is read")
    if asked.columns is not None and len(asked.columns) > 1:
        raise InputError(f"{of('columns', 'wn.open')} must name one key for {owner}; got {len(asked.columns)}.")
    target = None
    if asked.task != "unlabelled" and isinstance(asked.labels, str | None):
        target = _key(keys, asked.labels, TARGETS, "labels", owner)
    usual = [key for key in keys if key != target]
    found = _key(usual, asked.columns[0] if asked.columns else None, INPUTS, "columns", owner)
    if found is None:
        found = usual[0] if len(usual) == 1 else None
    if found is None:
        raise InputError(
            f"{owner} returns dictionaries, and none of their keys ({', '.join(keys[:NAMED])}) is a usual one for "
            f"inputs; name it with columns=."
        )
    return ItemForm(found, target)


def _key(keys: list[str], given: str | None, usual: tuple[str, ...], option: str, owner: str) -> str | None:
    """The key that was named, or the only usual one."""
    if given is not None:
        if given not in keys:
            raise InputError(
                f"{of(option, 'wn.open')} must be a key of the dictionaries of {owner} ({', '.join(keys[:NAMED])}); "
                f"got {given!r}."
            )
        return given
    found = [key for key in keys if key.lower() in usual]
    if len(found) > 1:
        raise InputError(
            f"{owner} returns dictionaries with several keys for {'inputs' if option == 'columns' else 'labels'} "
            f"({', '.join(found)}); name one with {option}=."
        )
    return found[0] if found else None


def number_of(value: Any) -> Any:
    """A target as a plain value: tensors and arrays of one number become that number."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    return value.item() if getattr(value, "ndim", None) == 0 else value
