"""Pruning with a bound: how removing examples changes a trained head, and which to remove so that it hardly changes.

- `vectors` computes one row per example from the features and outputs of a head (`fit_head` trains one);
  `from_model` does so for a torch network whose head is named.
- `prune_by_count` removes a given number of examples, `prune_by_bound` as many as a bound on the change allows. Both
  return a certificate.
- `certify` makes the certificate for a removal by any other method.
- `head_coreset` keeps a few weighted examples whose head is exactly the head of all.
- `loss_influence` is the effect on the loss of other examples.

All of this is about the head on fixed features.
"""

from __future__ import annotations

from .certify import certify
from .fit_head import FittedHead, fit_head
from .from_model import from_model
from .head_coreset import HeadCoreset, head_coreset
from .lissa import Lissa
from .pruned import Pruned, prune_by_bound, prune_by_count
from .vectors import Influence, loss_influence, vectors

__all__ = [
    "FittedHead",
    "HeadCoreset",
    "Influence",
    "Lissa",
    "Pruned",
    "certify",
    "fit_head",
    "from_model",
    "head_coreset",
    "loss_influence",
    "prune_by_bound",
    "prune_by_count",
    "vectors",
]
