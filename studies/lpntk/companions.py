"""Can an example be made easy or hard by the company it is trained in? (Section 3.2, Fig. 2, Appendix D.3.)

A network is trained, the lpNTK taken class by class, and each class clustered around farthest points. The targets are
the centres of the largest clusters, one a class. A training set is the ten targets with the same number of companions
each, all of one sort; fresh networks are trained on it, and a target's difficulty is its loss summed over epochs.

The paper clusters class by class and shows companions of the target's own class, so that is how its three sorts are
read here: the most interchangeable of the head cluster, those at its edge, and the least interchangeable of the tail
clusters. Its words, other examples "more interchangeable", can also be read over all classes, where the most
interchangeable are mostly of the target's class and the least are of others, so that class and kernel cannot be told
apart; both readings are run. Beside them stand random companions, and the most and least similar by cosine, since the
raw kernel is large for whatever has a long gradient.

All targets of a set get companions of the same sort, as in the paper, so a set of the least interchangeable is also a
harder set as a whole; how much of a target's loss is owed to its own companions alone is not told apart.

The paper trains 100 seeds and does not say how many companions it adds; its figures show five.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import winnow as wn
from winnow.artefacts.intervals import Interval, difference, mean
from winnow.core import seeds

from ..parts import COLOURS, INK, RANDOM, Asked, Part, interval, panels, written
from .parts import drawn
from .trainings import Plan, trained

CLASSES = 10
TOP = 2.8  # of the figure's loss axis
OWN, ANY, COSINE = "own class", "any class", "own class, by cosine"
SORTS = {  # group -> the sorts in it, from easiest to hardest as the paper expects, and random
    OWN: ("most", "medium", "least", "random"),
    ANY: ("most", "least", "random"),
    COSINE: ("most", "least"),
}

Positions = NDArray[np.int64]
Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Sizes:
    """How large everything is."""

    examples: int = 1500  # trained on for the kernel, and chosen from
    epochs: int = 20  # of that training, at a rate of .1 and batches of 128
    share: float = 0.1  # centres of each class, as a share of its examples
    companions: int = 9  # of each target
    starts: int = 3  # fresh networks trained on each set


PLAN = Plan(rate=0.1, batch=20, epochs=30)
QUICK = Sizes(examples=300, epochs=1, companions=2, starts=2)


@dataclass(frozen=True)
class Seen:
    """What the kernel says of the targets, one a class."""

    targets: Positions
    kernel: Vector  # targets x examples
    lengths: Vector  # of every example's feature
    head: NDArray[np.bool_]  # whether an example is in the head cluster of its class

    @property
    def cosine(self) -> Vector:
        """Cosine of each target with every example."""
        return self.kernel / self.lengths / self.lengths[self.targets][:, None]


def run(asked: Asked) -> Part:
    """Train the targets in every kind of company and compare."""
    sizes = QUICK if asked.quick else Sizes()
    plan = Plan(PLAN.rate, PLAN.batch, 2) if asked.quick else PLAN
    found = {data: [kept(asked, data, sizes, plan, repeat) for repeat in range(asked.seeds)] for data in asked.data}
    said = (
        f"LeNet-5; kernel of a network trained on {sizes.examples:,} examples for {sizes.epochs} epochs; ten targets "
        f"with {sizes.companions} companions each, plain gradient descent at {plan.rate:g}, batches of {plan.batch}, "
        f"{plan.epochs} epochs, {sizes.starts} initialisations a set; mean ± 95 % interval over {asked.seeds} draws of "
        "examples and kernel, differences paired; the paper has 100 seeds."
    )
    return Part("companions", said, tabled(found), judged(found), drawn_up(found))


def kept(asked: Asked, data: str, sizes: Sizes, plan: Plan, repeat: int) -> dict[str, Any]:
    """Losses of the targets of one draw in every company, from the shelf."""
    named = {"data": data, "repeat": repeat, "sorts": SORTS, **asdict(sizes), "plan": plan.named()}

    def make(seed: int) -> dict[str, Any]:
        x, labels = drawn(data, sizes.examples, "companions", repeat)
        return compared(x, labels, sizes, plan, seed)

    return asked.shelf.keep("company", named, make)


def compared(x: torch.Tensor, labels: Positions, sizes: Sizes, plan: Plan, seed: int) -> dict[str, Any]:
    """For each sort of company: the targets' loss by start and epoch, their difficulties, who the companions are."""
    seen = looked(x, labels, sizes, seed)
    out: dict[str, Any] = {}
    for group, sorts in SORTS.items():
        for sort in sorts:
            losses, chosen = [], []
            for start in range(sizes.starts):
                rng = seeds.stream(seed, "company", group, sort, start if sort == "random" else 0)
                chosen.append(choice(group, sort, seen, labels, sizes.companions, rng))
                places = np.concatenate([seen.targets, chosen[-1].ravel()])
                net = fresh(x, seeds.number(seed, "start", start))
                y = torch.from_numpy(labels[places])
                order = seeds.number(seed, "batches", start)
                losses.append(trained(net, x[places], y, plan, order, watched=CLASSES)[1])
            curves = np.stack(losses)  # starts x epochs x targets
            out[f"{group}: {sort}"] = {
                "curves": curves.mean(2).tolist(),
                "targets": curves.sum(1).mean(0).tolist(),
                **described(seen, labels, np.stack(chosen)),
            }
    return out


def fresh(x: torch.Tensor, seed: int) -> torch.nn.Module:
    return wn.models.build("lenet5", classes=CLASSES, shape=tuple(x.shape[1:]), seed=seed)


def looked(x: torch.Tensor, labels: Positions, sizes: Sizes, seed: int) -> Seen:
    """Train a network and find the targets in its kernel."""
    y = torch.from_numpy(labels)
    plan = Plan(0.1, 128, sizes.epochs)
    net, _ = trained(
        fresh(x, seeds.number(seed, "kernel")), x, y, plan, seeds.number(seed, "kernel batches"), watched=1
    )
    targets = np.empty(CLASSES, dtype=np.int64)
    lengths = np.empty(len(x))
    head = np.zeros(len(x), dtype=bool)
    for c in range(CLASSES):
        places = np.flatnonzero(labels == c)
        gram = wn.lpntk.gram(net, x[places], y[places])
        points = wn.lpntk.farthest_points(gram, sizes.share)
        largest = int(points.heads[0])
        targets[c] = places[points.centres[largest]]
        head[places[points.members(largest)]] = True
        lengths[places] = np.sqrt(np.diagonal(gram))
    kernel = wn.lpntk.cross(net, x[targets], y[targets], x, y)
    return Seen(targets, np.asarray(kernel, dtype=np.float64), lengths, head)


def choice(group: str, sort: str, seen: Seen, labels: Positions, k: int, rng: np.random.Generator) -> Positions:
    """Companions, targets x k, no example twice; of any class, targets choose one after the other in random order."""
    similar = seen.cosine if group == COSINE else seen.kernel
    free = np.ones(labels.size, dtype=bool)
    free[seen.targets] = False
    chosen = np.empty((seen.targets.size, k), dtype=np.int64)
    for t in rng.permutation(seen.targets.size):
        able = np.flatnonzero(free if group == ANY else free & (labels == labels[seen.targets[t]]))
        if sort == "random":
            chosen[t] = rng.choice(able, k, replace=False)
        else:
            # The head cluster comes first where the paper's clusters decide.
            tail = ~seen.head[able] if group == OWN else np.zeros(able.size, dtype=bool)
            ranked = able[np.lexsort((-similar[t, able], tail))]
            edge = int(np.clip((~tail).sum(), 2 * k, ranked.size - k))
            last = {"most": k, "medium": edge, "least": ranked.size}[sort]
            chosen[t] = ranked[last - k : last]
        free[chosen[t]] = False
    return chosen


def described(seen: Seen, labels: Positions, chosen: Positions) -> dict[str, float]:
    """Means over companions: of the target's class or not, cosine with it, and length beside its own."""
    t = np.arange(seen.targets.size)[:, None]
    return {
        "own": float((labels[chosen] == labels[seen.targets][:, None]).mean()),
        "cosine": float(seen.cosine[t, chosen].mean()),
        "length": float((seen.lengths[chosen] / seen.lengths[seen.targets][:, None]).mean()),
    }


def difficulty(found: Sequence[dict[str, Any]], group: str, sort: str) -> list[float]:
    """Mean difficulty of the targets, draw by draw."""
    return [float(np.mean(f[f"{group}: {sort}"]["targets"])) for f in found]


def gap(found: Sequence[dict[str, Any]], group: str, easy: str, hard: str) -> Interval:
    """How much harder the targets are in one company than in another, paired by draw."""
    return difference(difficulty(found, group, hard), difficulty(found, group, easy))


def tabled(found: dict[str, list[dict[str, Any]]]) -> list[str]:
    """A row a sort: difficulty, what it is beside random of the same group, and who the companions are."""
    lines = [
        "| data | companions | difficulty of the target | minus random's | of its class | cosine | length |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for data, draws in found.items():
        for group, sorts in SORTS.items():
            base = ANY if group == ANY else OWN
            for sort in sorts:
                which = f"{group}: {sort}"
                beside = difference(difficulty(draws, group, sort), difficulty(draws, base, "random"))
                own, cosine, length = (np.mean([f[which][key] for f in draws]) for key in ("own", "cosine", "length"))
                cells = [
                    data,
                    which,
                    interval(difficulty(draws, group, sort), 2),
                    "" if sort == "random" else written(beside, 2),
                    f"{own:.2f}",
                    f"{cosine:.2f}",
                    f"{length:.2f}",
                ]
                lines.append("| " + " | ".join(cells) + " |")
    return lines


def judged(found: dict[str, list[dict[str, Any]]]) -> list[str]:
    """The claim, data set by data set, in both readings."""
    lines = [
        "The paper: a target is easiest among interchangeable companions, harder among medium ones, hardest among "
        "non-interchangeable ones."
    ]
    for data, draws in found.items():
        steps = [("most", "medium"), ("medium", "least"), ("most", "least")]
        said = "; ".join(f"{hard} over {easy}: {worded(gap(draws, OWN, easy, hard))}" for easy, hard in steps)
        wins = [
            easy < hard
            for f in draws
            for easy, hard in zip(f[f"{OWN}: most"]["targets"], f[f"{OWN}: least"]["targets"], strict=True)
        ]
        whole, within, turned = (gap(draws, group, "most", "least") for group in (ANY, OWN, COSINE))
        lines += [
            f"- {data}, companions of the target's own class: {said}. The order most before least is right for "
            f"{sum(wins)} of {len(wins)} targets.",
            f"- {data}, companions of any class: least over most: {worded(whole)}. "
            f"{np.mean([f[f'{ANY}: most']['own'] for f in draws]):.0%} of the most interchangeable and "
            f"{np.mean([f[f'{ANY}: least']['own'] for f in draws]):.0%} of the least are of the target's class. "
            f"{remaining(whole, within)}",
            f"- {data}, ranked by cosine within the class: least over most: {worded(turned)}.",
            f"- {data}, beside random companions of the class: random over most: "
            f"{worded(gap(draws, OWN, 'most', 'random'))}; least over random: "
            f"{worded(gap(draws, OWN, 'random', 'least'))}.",
        ]
    lines.append(
        "- Not told apart: all ten targets of a set get companions of the same sort, so a set of the least "
        "interchangeable is a harder set as a whole; and companions that are near in the kernel may be near in pixels."
    )
    return lines


def worded(found: Interval) -> str:
    """Whether the second is harder, by the interval of the paired difference."""
    if not found.excludes_zero:
        return f"not settled ({written(found, 2)})"
    return f"{'holds' if found.centre > 0 else 'does not hold, the reverse is so'} ({written(found, 2)})"


def remaining(whole: Interval, within: Interval) -> str:
    """What is left of the difference between least and most when all companions share the target's class."""
    if not (whole.excludes_zero and whole.centre > 0):
        return "Over all classes there is no clear effect to explain."
    if not within.excludes_zero or within.centre < 0:
        return "With the class held fixed the effect does not remain."
    return f"With the class held fixed the effect remains, {within.centre / whole.centre:.1f} times as large."


def drawn_up(found: dict[str, list[dict[str, Any]]]) -> Any:
    """A panel a data set: the targets' mean loss over epochs in each company, with intervals over draws."""
    figure, axes = panels(len(found), 3.2, sharey=True)
    looks = {
        f"{OWN}: most": (COLOURS[1], "-"),
        f"{OWN}: medium": (COLOURS[4], "-"),
        f"{OWN}: random": (RANDOM, "-"),
        f"{OWN}: least": (COLOURS[3], "-"),
        f"{ANY}: most": (COLOURS[1], ":"),
        f"{ANY}: random": (RANDOM, ":"),
        f"{ANY}: least": (COLOURS[3], ":"),
    }
    for ax, (data, draws) in zip(axes, found.items(), strict=True):
        ends = []
        for which, (colour, line) in looks.items():
            points = [mean(column) for column in np.array([np.mean(f[which]["curves"], axis=0) for f in draws]).T]
            centre, half = (np.array([getattr(p, name) for p in points]) for name in ("centre", "half_width"))
            epochs = np.arange(1, centre.size + 1)
            ax.plot(epochs, centre, color=colour, linestyle=line, linewidth=1.4)
            if line == "-":  # seven bands would hide each other
                ax.fill_between(epochs, centre - half, centre + half, color=colour, alpha=0.13, linewidth=0)
            ends.append((centre[-1], which, colour))
        ax.set_title(data, fontsize=9, color=INK)
        ax.set_xlabel("epoch", fontsize=9)
        ax.tick_params(labelsize=8)
        ax.set_ylim(0, TOP)
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("mean loss of the targets", fontsize=9)
    height = -1.0
    for end, which, colour in sorted(ends):
        height = max(end, height + 0.13)
        axes[-1].text(1.02, height / TOP, which, color=colour, fontsize=8, va="center", transform=axes[-1].transAxes)
    return figure
