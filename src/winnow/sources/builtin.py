"""Data sets known by name: `digits` is part of scikit-learn, the others are searched for on this machine.

Places, in order: `$WINNOW_DATA/<name>`, winnow's cache, Debian's package for Fashion-MNIST, torchvision's layout below
`data/`, and Keras's cache. Nothing is downloaded; if nothing is found, the error lists each place.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..artefacts.source import Source
from ..core.errors import NotFoundError
from .assembly import Held, OpenRequest, Pieces, assemble
from .holdout import hold_out
from .splits import choose

__all__ = ["NAMES", "open_builtin"]

_DIGITS = tuple(map(str, range(10)))


@dataclass(frozen=True)
class _Known:
    """Class names, and the folders or files where it usually is, with `~` for home."""

    classes: tuple[str, ...]
    places: tuple[str, ...]


_KNOWN = {
    "mnist": _Known(_DIGITS, ("data/MNIST", "~/.keras/datasets/mnist.npz")),
    "fashion-mnist": _Known(
        ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
        ("/usr/share/datasets/fashion-mnist", "data/FashionMNIST", "~/.keras/datasets/fashion-mnist"),
    ),
    "cifar10": _Known(
        ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
        ("data/cifar-10-batches-py", "~/.keras/datasets/cifar-10-batches-py"),
    ),
    "sst2": _Known(("negative", "positive"), ("data/SST-2",)),
}
NAMES = ("digits", *_KNOWN)
_HELD_OUT = 0.2


def open_builtin(name: str, asked: OpenRequest, open_path: Callable[[Path, OpenRequest], Source]) -> Source:
    """Make a Source over a data set known by name.

    Parameters
    ----------
    name
        One of `NAMES`.
    asked
        The options of `wn.open`.
    open_path
        Opens the data at a path.
    """
    if name == "digits":
        return _digits(asked)
    places = _places(name)
    for place in places:
        if place.is_file() or (place.is_dir() and any(place.iterdir())):
            found = open_path(place, replace(asked, name=asked.name or name, class_names=_KNOWN[name].classes))
            return replace(found, origin={**found.origin, "builtin": name})
    raise NotFoundError(
        f"data set {name!r} was not found; looked in {', '.join(map(str, places))}; set WINNOW_DATA "
        f"to the folder that holds {name}/, or pass its path."
    )


def _places(name: str) -> list[Path]:
    """Where to look, in order."""
    root = os.environ.get("WINNOW_DATA")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "winnow", name)
    usual = [cache, *map(Path, _KNOWN[name].places)]
    return ([Path(root, name)] if root else []) + [place.expanduser() for place in usual]


def _digits(asked: OpenRequest) -> Source:
    """1797 images of 8 x 8, with a fixed split that depends only on the content."""
    from sklearn.datasets import load_digits

    asked.refuse("labels", "columns", "ids", of="'digits'")
    bunch = load_digits()
    values = np.round(bunch.images * (255 / 16)).astype(np.uint8)[:, None]
    name = asked.name or "digits"
    split = choose(("train", "test"), asked.split, "data set 'digits'")
    whole = assemble(
        replace(asked, size=None, task=None, classes=None, group=None, time=None),
        "digits",
        Pieces(
            adapter="digits",
            read=Held(values),
            count=len(values),
            shape=values.shape[1:],
            kind="image",
            target=bunch.target,
            class_names=_DIGITS,
            values=values,
        ),
    )
    part = hold_out(whole, _HELD_OUT, 0)[split == "test"]
    # Assembled again, so that task=, classes= and size= mean the same as everywhere; ids stay those of the whole set.
    return assemble(
        asked,
        name,
        Pieces(
            adapter="digits",
            read=part.read,
            count=len(part),
            shape=part.shape,
            kind="image",
            target=part.labels,
            class_names=_DIGITS,
            own_ids=part.ids,
            ids_from="content",
            origin={"split": split, "builtin": "digits"},
        ),
    )
