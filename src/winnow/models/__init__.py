"""Models: small reference networks, anyone's own module, and the bridge to torchvision and timm.

`build` is the door; `choose` is what `auto` means; `feature_layer` and `features_of` say where a network's
representation is and fetch it; `Frozen` is a network whose representation stays as it is; `small_networks` names a
space to search.
"""

from __future__ import annotations

from . import networks, resnet
from .build import NETWORKS, build, choose
from .features import eval_mode, feature_layer, features_of
from .frozen import Frozen
from .search_space import small_networks

__all__ = [
    "NETWORKS",
    "Frozen",
    "build",
    "choose",
    "eval_mode",
    "feature_layer",
    "features_of",
    "networks",
    "resnet",
    "small_networks",
]
