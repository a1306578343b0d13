"""Short compositions of the rooms: from a source to a subset, and on to its proof.

prune              observe -> score -> select          (with a search over fractions for a tolerance)
prune_with_proof   the same, then evaluate and report, all in one resumable run directory
plan               a pilot -> the theory calibrated -> what to keep, how far, what to expect
explain            one training -> its kernel -> what an example, or a class, is learned with and against
observe_run        observe into a run directory, for the commands that go step by step
"""

from __future__ import annotations

from .asking import choose_method
from .explaining import DatasetExplanation, Explanation, explain
from .planning import plan
from .proving import Proof, prune_with_proof
from .pruning import prune
from .watching import observe_run

__all__ = [
    "DatasetExplanation",
    "Explanation",
    "Proof",
    "choose_method",
    "explain",
    "observe_run",
    "plan",
    "prune",
    "prune_with_proof",
]
