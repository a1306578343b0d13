"""The claim of the paper, for BYOL and SimSiam on two data sets whose labels the priors never saw; see `methods`."""

from __future__ import annotations

from ..parts import Asked, Part
from .methods import CLAIMED, part


def run(asked: Asked) -> Part:
    """Both methods on every data set asked for."""
    return part(asked, "claim", CLAIMED)
