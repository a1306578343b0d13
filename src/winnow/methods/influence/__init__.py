"""Pruning with a bound: how leaving examples out moves a trained head, and which to leave out so that it hardly moves.

`vectors` gives one row an example, from features and outputs of a head (`fit_head` trains one) or from a torch network
by naming its head (`from_model`). `prune_by_count` removes a given number, `prune_by_bound` as many as a bound on the
change allows; both certify what they did, and `certify` does so for a removal by any other method. `loss_influence` is
the effect on the loss of other examples. All of it is about the head on fixed features.
"""

from __future__ import annotations

from .certify import certify
from .fit_head import FittedHead, fit_head
from .from_model import from_model
from .lissa import Lissa
from .pruned import Pruned, prune_by_bound, prune_by_count
from .vectors import Influence, loss_influence, vectors

__all__ = [
    "FittedHead",
    "Influence",
    "Lissa",
    "Pruned",
    "certify",
    "fit_head",
    "from_model",
    "loss_influence",
    "prune_by_bound",
    "prune_by_count",
    "vectors",
]
