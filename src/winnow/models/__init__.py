"""Models: small reference networks, the user's own module, and the bridge to torchvision and timm.

`build` makes a network; `choose` is the choice behind `auto`; `representation` decides what represents an example in a
network, `features_of` computes it, and `feature_layer` names the head; `Frozen` is a network with a fixed
representation, `FineTune` one that starts from given weights; `small_networks` names a search space.
"""

from __future__ import annotations

from . import networks, resnet, text_networks
from .build import NETWORKS, build, choose
from .features import feature_layer, features_of
from .fine_tune import FineTune
from .frozen import Frozen
from .modes import eval_mode
from .representation import Representation, representation
from .search_space import small_networks

__all__ = [
    "NETWORKS",
    "FineTune",
    "Frozen",
    "Representation",
    "build",
    "choose",
    "eval_mode",
    "feature_layer",
    "features_of",
    "networks",
    "representation",
    "resnet",
    "small_networks",
    "text_networks",
]
