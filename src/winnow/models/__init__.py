"""Models: small reference networks, the user's own module, and the bridge to torchvision and timm.

`build` makes a network; `choose` is the choice behind `auto`; `feature_layer` and `features_of` locate a network's
representation and compute it; `Frozen` is a network with a fixed representation; `small_networks` names a search space.
"""

from __future__ import annotations

from . import networks, resnet, text_networks
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
    "text_networks",
]
