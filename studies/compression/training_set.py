"""Fig. 3: a tenth of the training set, weighted, in place of the whole.

A student learns a noisy teacher from all points, from a weighted tenth with the same moments, and from a random tenth,
for the same steps from the same weights. What counts is the excess of the error over that of all points, as a share
of the excess of the random tenth. The paper matches (x1, x2, y) to order 5. Order 2 stands beside it, since a ReLU has
no more than one derivative, and the basis of the squared loss: powers of x times {1, y}, and y^2, with cells in x.

The teacher's weights are standard normal, which the paper leaves open. Rates and steps were chosen on a teacher that is
not among the seeds, by how well the student of all points learned; no other student was looked at. Full batches and
batches of 256 drawn by weight are the paper's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import winnow as wn
from winnow.artefacts.intervals import mean
from winnow.core import seeds

from ..comparing import holds, ratio, within
from ..parts import COLOURS, FULL, RANDOM, Asked, Part, interval, panels
from .parts import begun
from .teacher import Points, Rule, Teacher, trained

BOUND = 0.4
ARMS = ("full", "order 5", "order 2", "loss-aware 5", "loss-aware 2", "random")
PAPER, ADVISED = "order 5", "loss-aware 2"
TEACHERS = 2  # for each seed asked for: small networks are cheap, and their errors scatter
LOOKS = {"full": FULL, "random": RANDOM, **dict(zip(ARMS[1:-1], COLOURS, strict=False))}


@dataclass(frozen=True)
class Sizes:
    """The paper's: 10^4 points to 10^3, noise 3, width 50; 10^5 test points."""

    points: int = 10_000
    kept: int = 1_000
    test: int = 10_000
    width: int = 50
    noise: float = 3.0
    marks: int = 16


RULES = (
    Rule("momentum", 0.003, None, 800),
    Rule("AdamW", 0.01, None, 800),
    Rule("momentum", 0.003, 256, 2000),
    Rule("AdamW", 0.01, 256, 2000),
)
QUICK = (Rule("momentum", 0.003, None, 20), Rule("AdamW", 0.01, 64, 20))


def run(asked: Asked) -> Part:
    sizes = Sizes(points=1000, kept=200, test=200, width=8, marks=4) if asked.quick else Sizes()
    rules = QUICK if asked.quick else RULES
    found = {
        rule: np.array(
            [
                asked.shelf.keep(
                    "curves",
                    {"rule": rule.settings(), "sizes": asdict(sizes), "arms": ARMS, "repeat": repeat},
                    lambda _, rule=rule, repeat=repeat: curves(sizes, rule, repeat).tolist(),
                )
                for repeat in range(TEACHERS * asked.seeds)
            ]
        )
        for rule in rules
    }
    last = {rule: one[:, :, -1] for rule, one in found.items()}
    settings = (
        f"A ReLU teacher of width {sizes.width} with noise of sd {sizes.noise:g}; {sizes.points:,} points to "
        f"{sizes.kept:,}; students of the same shape, steps as in the table, rates falling as a cosine; test error "
        f"against the noiseless teacher at {sizes.test:,} points; {TEACHERS * asked.seeds} teachers with their own "
        f"data and initial weights, all arms of one paired."
    )
    return Part("training-set", settings, table(last), verdict(last), drawing(found))


def curves(sizes: Sizes, rule: Rule, repeat: int) -> NDArray[np.float64]:
    """Test errors (arm, mark) of one teacher."""
    seed = seeds.number(0, "compression", "training_set", repeat)
    teacher = Teacher(sizes.width, seed)
    full, test = teacher.sample(sizes.points, sizes.noise, seed, "train"), teacher.sample(sizes.test, 0.0, seed, "test")
    arms = [full, *(chosen(arm, full, sizes.kept, seed) for arm in ARMS[1:])]
    marks = places(rule, sizes.marks)
    if rule.batch is not None:
        return trained(arms, test, rule, sizes.width, seed, marks)
    return np.concatenate([trained(some, test, rule, sizes.width, seed, marks) for some in (arms[:1], arms[1:])])


def chosen(arm: str, full: Points, size: int, seed: int) -> Points:
    """The weighted points of an arm.

    Parameters
    ----------
    arm
        "random"; "order K" for the moments of (x1, x2, y) up to K; or "loss-aware K" for those of the squared loss.
    full
        What to choose from.
    size
        How many.
    seed
        Of the draw.
    """
    if arm == "random":
        return full.at(seeds.stream(seed, "random", size).choice(len(full), size, replace=False))
    basis, order = arm.split()
    if basis == "loss-aware":
        places, weights = wn.moments.compress(full.inputs, size, int(order), seed=seed, targets=full.targets)
    else:
        points = np.column_stack([full.inputs, full.targets])
        # Noise would let y decide which points are near each other.
        places, weights = wn.moments.compress(points / points.std(0), size, int(order), seed=seed)
    return full.at(places, weights)


def places(rule: Rule, marks: int) -> list[int]:
    """The steps at which curves are measured."""
    return sorted({round(step) for step in np.linspace(0, rule.steps, marks + 1)[1:]})


def shares(last: NDArray[np.float64]) -> Mapping[str, Any]:
    """Each chosen arm's excess error over full, as a share of random's; `last` is (teacher, arm)."""
    excess = {arm: last[:, i] - last[:, 0] for i, arm in enumerate(ARMS)}
    return {arm: ratio(excess[arm], excess["random"]) for arm in ARMS[1:-1]}


def table(last: Mapping[Rule, NDArray[np.float64]]) -> Sequence[str]:
    lines = [
        "| training | steps | " + " | ".join(ARMS) + " | " + " | ".join(f"share, {arm}" for arm in ARMS[1:-1]) + " |",
        "|---" * (2 * len(ARMS)) + "|",
    ]
    for rule, errors in last.items():
        cells = [interval(errors[:, i]) for i in range(len(ARMS))]
        cells += [within(share) for share in shares(errors).values()]
        lines.append(f"| {rule} | {rule.steps} | " + " | ".join(cells) + " |")
    return lines


def verdict(last: Mapping[Rule, NDArray[np.float64]]) -> Sequence[str]:
    """The claim for each way of training, and for their mean over the same teachers."""
    pooled = np.mean(list(last.values()), axis=0)
    lines = [
        f"Claim: a compressed tenth learns nearly as well as the whole, a random tenth does not; here, the excess "
        f"error of the compressed over the full set is at most {BOUND} of the random subset's."
    ]
    for arm in ARMS[1:-1]:
        one = shares(pooled)[arm]
        each = ", ".join(f"{rule} {within(shares(errors)[arm])}" for rule, errors in last.items())
        named = f"{arm} (the paper's)" if arm == PAPER else arm
        lines.append(f"{begun(named)}: share {within(one)}: this {holds(one, BOUND, at_most=True)}. {each}.")
    index = {arm: i for i, arm in enumerate(ARMS)}
    gap = mean(pooled[:, index[ADVISED]] - pooled[:, index[PAPER]])
    told = "smaller than" if gap.high < 0 else "larger than" if gap.low > 0 else "not told apart from"
    lines.append(
        f"The advised basis ({ADVISED}) has an error {told} that of the paper's ({PAPER}) on the same teachers: "
        f"difference {gap.centre:+.4f} ({gap.low:+.4f} to {gap.high:+.4f})."
    )
    return lines


def drawing(found: Mapping[Rule, NDArray[np.float64]]) -> Figure:
    """Errors over full's of the same teacher: teachers differ far more than what is compared."""
    figure, axes = panels(len(found), 2.6, sharey=True)
    for axis, (rule, errors) in zip(axes, found.items(), strict=True):
        steps = places(rule, errors.shape[2])
        logs = np.log(errors / errors[:, :1])
        axis.axhline(1, color=LOOKS["full"], lw=1.1, ls="--", label="full")
        for i, arm in list(enumerate(ARMS))[1:]:
            every = [mean(column) for column in logs[:, i].T]
            axis.plot(steps, np.exp([one.centre for one in every]), color=LOOKS[arm], lw=1.3, label=arm)
            low, high = (np.exp([getattr(one, end) for one in every]) for end in ("low", "high"))
            axis.fill_between(steps, low, high, color=LOOKS[arm], alpha=0.15, lw=0)
        axis.set_title(str(rule), fontsize=7)
        axis.set_xlabel("steps")
    axes[0].set_ylabel("test MSE over full's")
    axes[0].legend(fontsize=6, frameon=False)
    return figure
