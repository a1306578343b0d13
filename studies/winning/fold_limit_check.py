"""How often is the limit of rotating folds too low, if the loss is just at the tolerance?

    python -m studies.winning.fold_limit_check [--trials 4000]

Losses of five folds are drawn from normal distributions: a share g of the variance of a fold's mean is the luck of its
trainings and its subset, the rest is that of its 40 examples, most of which all sizes have in common. Two sizes came
before, with a luck that is independent of this one's or the same to 80 %, and smaller by a factor. The limit is
winnow's own (`FoldLoss`), at 95 %; printed is how many of 100 limits are below the true loss.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from winnow.evaluation.fold_limit import NEIGHBOURS, FoldLoss

FOLDS, EXAMPLES = 5, 40
SHARES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
WORLDS = (
    (0.0, 1.0),
    (0.8, 1.0),
    (0.3, 1.3),
    (0.8, 1.2),
)  # correlation between sizes, growth of the variance from size to size


def too_low(share: float, same: float, growth: float, trials: int, neighbours: int = NEIGHBOURS) -> float:
    """How often the limit is below the true loss, zero."""
    rng = np.random.default_rng(15)
    missed = 0
    for _ in range(trials):
        common, seen = rng.standard_normal(FOLDS), rng.standard_normal((FOLDS, EXAMPLES))
        sizes = []
        for before in range(neighbours + 1):
            luck = math.sqrt(same) * common + math.sqrt(1 - same) * rng.standard_normal(FOLDS)
            other = rng.standard_normal((FOLDS, EXAMPLES))
            marks = math.sqrt(EXAMPLES * (1 - share)) * (math.sqrt(0.7) * seen + math.sqrt(0.3) * other)
            marks += math.sqrt(share / growth**before) * luck[:, None]
            sizes.append(FoldLoss.of([one[None] for one in marks], binary=False))
        missed += sizes[0].with_spread([one.spread for one in sizes[:0:-1]]).upper(0.95) < 0
    return missed / trials


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.winning.fold_limit_check")
    parser.add_argument("--trials", type=int, default=4000)
    trials = parser.parse_args().trials
    print("| sizes averaged | same luck | growth |", " | ".join(f"g = {share:g}" for share in SHARES), "|")
    for neighbours, worlds in ((NEIGHBOURS, WORLDS), (0, WORLDS[:1])):
        for same, growth in worlds:
            found = [100 * too_low(share, same, growth, trials, neighbours) for share in SHARES]
            print(
                f"| {neighbours + 1} | {same} | {growth} |", " | ".join(f"{one:.1f}" for one in found), "|", flush=True
            )


if __name__ == "__main__":
    main()
