"""Is an example as hard in a small training set as in a large one? (Section 3.2, Fig. 1, Tables 4 to 6.)

The difficulty of an example is its training loss summed over the ends of all epochs. The examples are trained on all
together, then split at random into sets of X, each trained by itself from the same initial weights for the same number
of epochs. The paper says that Pearson's correlation of the two difficulties falls as X falls.

Beside it stand what the paper leaves out: the same N examples from other initial weights in another order, which says
how far difficulty at N repeats at all; the mean difficulty of the example's class in that other training, the simplest
predictor; and Spearman's correlation, since difficulty has a heavy tail.

The paper takes N = 4,096, X from 1,024 down, MNIST at two settings and CIFAR-10 with ResNet-18 at the first, and does
not say how many epochs. Its Section 3.2 counts N and X for each class; its Appendix D.2, whose tables these are, in
all, and so does this. Here N is 512, Fashion-MNIST stands for CIFAR-10 and LeNet-5 for ResNet-18. A first run had
N = 1,024 and twelve epochs; sets no larger than a batch then took twelve steps and learned next to nothing, so epochs
were raised to a hundred and N halved to pay for it. The first run's correlations had been seen by then. Where the
network learns next to nothing even on all N, the small sets are not trained: difficulty would be the loss at the
start, which all share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats

import winnow as wn
from winnow.artefacts.intervals import difference, mean
from winnow.core import seeds

from ..parts import COLOURS, FULL, INK, SOFT, Asked, Part, interval, panels, written
from .parts import drawn
from .trainings import Plan, together, trained

SIZES = (512, 256, 64, 16, 4, 1)  # paper: 4,096, then 1,024 and these
EPOCHS = 100
SETTINGS = ((0.1, 128, True), (0.001, 256, False))  # learning rate, batch size, on every data set or the first only
SMALL = 16  # sets up to this size train quicker as stacked weights
LEARNED = 0.9  # a network whose loss stays above this share of the first has learned next to nothing
AGAIN = "other start"

# Tables 4, 5 and 6: 4,096 with each size.
PAPER = {
    ("mnist", 0.1): {1024: 0.8512, 256: 0.7282, 64: 0.5753, 16: 0.3865, 4: 0.2330, 1: 0.062},
    ("mnist", 0.001): {1024: 0.9096, 256: 0.7376, 64: 0.4065, 16: 0.2141, 4: 0.0695, 1: 0.0307},
}
CIFAR = {1024: 0.8433, 256: 0.5772, 64: 0.2805, 16: 0.1840, 4: 0.0628, 1: 0.0131}

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """Data with a way to train, and what was found for each seed."""

    data: str
    plan: Plan
    found: Sequence[dict[str, Any]]

    @property
    def title(self) -> str:
        """What tables call it."""
        return f"{self.data}, rate {self.plan.rate:g}, batch {self.plan.batch}"

    @property
    def learned(self) -> bool:
        """Whether the network learned something on all examples, whatever the seed."""
        return all(len(f["difficulty"]) > 1 for f in self.found)

    @property
    def sizes(self) -> list[int]:
        """Sizes of sets, the largest first."""
        return sorted(map(int, self.found[0]["difficulty"]), reverse=True)

    @property
    def paper(self) -> dict[int, float]:
        """What the paper prints for 4,096 with each size; for other data than MNIST its CIFAR-10."""
        return PAPER.get((self.data, self.plan.rate), CIFAR)

    def between(self, one: int, other: int, rank: bool = False) -> list[float]:
        """Correlation of the difficulties at two sizes, seed by seed."""
        return [correlation(f["difficulty"][str(one)], f["difficulty"][str(other)], rank) for f in self.found]

    def level(self, size: int) -> float:
        """Loss at a size, mean over examples, epochs and seeds."""
        return float(np.mean([f["difficulty"][str(size)] for f in self.found])) / self.plan.epochs

    def again(self, rank: bool = False) -> list[float]:
        """Correlation with the same examples trained from another start."""
        return [correlation(f["difficulty"][str(self.sizes[0])], f["again"], rank) for f in self.found]

    def by_class(self, rank: bool = False) -> list[float]:
        """Correlation with the mean difficulty of the example's class from another start."""
        return [
            correlation(f["difficulty"][str(self.sizes[0])], class_means(f["again"], f["labels"]), rank)
            for f in self.found
        ]


def run(asked: Asked) -> Part:
    """Train, correlate, and say whether the correlation falls with the size."""
    sizes, epochs = ((64, 16, 4, 1), 2) if asked.quick else (SIZES, EPOCHS)
    settings = []
    for rate, batch, everywhere in SETTINGS:
        for data in asked.data if everywhere else asked.data[:1]:
            plan = Plan(rate, batch, epochs)
            settings.append(Setting(data, plan, [kept(asked, data, plan, sizes, r) for r in range(asked.seeds)]))
    said = (
        f"LeNet-5, {sizes[0]:,} examples, plain gradient descent, {epochs} epochs, mean ± 95 % interval over "
        f"{asked.seeds} draws of examples and initial weights; the paper has 4,096 examples, and CIFAR-10 with "
        "ResNet-18 in place of Fashion-MNIST."
    )
    learned, idle = [s for s in settings if s.learned], [s for s in settings if not s.learned]
    figure = drawn_up(learned) if learned else None
    return Part("difficulty", said, tabled(learned) if learned else [], [*judged(learned), *map(idled, idle)], figure)


def kept(asked: Asked, data: str, plan: Plan, sizes: Sequence[int], repeat: int) -> dict[str, Any]:
    """Difficulties of one draw at every size, from the shelf."""
    named = {"data": data, "sizes": list(sizes), "repeat": repeat, **plan.named()}
    return asked.shelf.keep(
        "difficulties",
        named,
        lambda seed: difficulties(*drawn(data, sizes[0], "difficulty", repeat), plan, sizes, seed),
    )


def difficulties(
    x: torch.Tensor, labels: NDArray[np.int64], plan: Plan, sizes: Sequence[int], seed: int
) -> dict[str, Any]:
    """Summed loss of each example at each size, and from another start."""
    y = torch.from_numpy(labels)
    shape = tuple(x.shape[1:])
    start, other = (
        wn.models.build("lenet5", classes=10, shape=shape, seed=seeds.number(seed, "weights", i)) for i in range(2)
    )
    net, losses = trained(start, x, y, plan, seeds.number(seed, "all", 0))
    with torch.no_grad():
        first = torch.nn.functional.cross_entropy(start(x), y).item()
        accuracy = (net(x).argmax(1) == y).double().mean().item()
    found = {str(sizes[0]): losses.sum(0).tolist()}
    for size in sizes[1:] if losses[-1].mean() <= LEARNED * first else ():
        order = seeds.stream(seed, "split", size).permutation(len(x))
        found[str(size)] = split(start, x, y, plan, order.reshape(-1, size), seed).tolist()
    return {
        "labels": labels.tolist(),
        "difficulty": found,
        "again": trained(other, x, y, plan, seeds.number(seed, "all", 1))[1].sum(0).tolist(),
        "first": first,
        "last": float(losses[-1].mean()),
        "accuracy": accuracy,
    }


def split(
    start: torch.nn.Module, x: torch.Tensor, y: torch.Tensor, plan: Plan, sets: NDArray[np.int64], seed: int
) -> Vector:
    """Summed loss of each example in the set that holds it."""
    size = sets.shape[1]
    if size <= min(SMALL, plan.batch):
        losses = together(start, x[sets], y[sets], plan).sum(0)
    else:
        losses = np.stack(
            [trained(start, x[s], y[s], plan, seeds.number(seed, size, i))[1].sum(0) for i, s in enumerate(sets)]
        )
    out = np.empty(len(x))
    out[sets] = losses
    return out


def correlation(one: Sequence[float], other: Sequence[float], rank: bool = False) -> float:
    """Pearson's correlation, or Spearman's."""
    found = stats.spearmanr(one, other) if rank else stats.pearsonr(one, other)
    return float(found.statistic)


def class_means(values: Sequence[float], labels: Sequence[int]) -> Vector:
    """Each example's class mean."""
    places = np.unique(labels, return_inverse=True)[1]
    return (np.bincount(places, values) / np.bincount(places))[places]


def tabled(settings: Sequence[Setting]) -> list[str]:
    """N against every size and against the two yardsticks; then every size against every other."""
    sizes = settings[0].sizes
    head = ["", "", *(f"{size}" for size in sizes[1:]), AGAIN, "class mean"]
    lines = [f"Correlation of the difficulty at {sizes[0]:,} with that at", "", row(head), row(["---"] * len(head))]
    for s in settings:
        for rank, name in ((False, "Pearson"), (True, "Spearman")):
            cells = [interval(s.between(sizes[0], size, rank)) for size in sizes[1:]]
            lines.append(row([s.title, name, *cells, interval(s.again(rank)), interval(s.by_class(rank))]))
        levels = [f"{s.level(size):.2f}" for size in sizes[1:]]
        lines.append(row(["", f"mean loss there; {s.level(sizes[0]):.2f} at {sizes[0]:,}", *levels, "", ""]))
        paper = [f"{s.paper[size]:.3f}" for size in sizes[1:]]
        lines.append(row(["", f"paper{'' if s.paper is not CIFAR else ', CIFAR-10'}", *paper, "", ""]))
    for s in settings:
        lines += ["", f"Pearson between all sizes, {s.title}", "", row(["", *map(str, sizes)])]
        lines.append(row(["---"] * (len(sizes) + 1)))
        for i, one in enumerate(sizes):
            cells = ["1" if one == other else interval(s.between(one, other)) for other in sizes[i:]]
            lines.append(row([str(one), *[""] * i, *cells]))
    return lines


def row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def judged(settings: Sequence[Setting]) -> list[str]:
    """The claim, setting by setting."""
    lines = ["The paper: the smaller the set, the less its difficulties correlate with those at N; at every step."]
    for s in settings:
        sizes, words = s.sizes, [f"- {s.title}: {fall(s)}."]
        words.append(further(s))
        top = mean(s.again()).centre
        above = [str(size) for size in sizes[1:] if mean(s.between(sizes[0], size)).centre > top]
        words.append(
            f"From another start the {sizes[0]:,} examples correlate with themselves by {interval(s.again())}"
            + (f"; sets of {', '.join(above)} from the same start do better than that." if above else ", the ceiling.")
        )
        first, last = (float(np.mean([f[key] for f in s.found])) for key in ("first", "last"))
        accuracy = float(np.mean([f["accuracy"] for f in s.found]))
        words.append(
            f"Mean loss at {sizes[0]:,} went from {first:.2f} to {last:.2f}, training accuracy {accuracy:.2f}."
        )
        idle = [str(size) for size in sizes[1:] if s.level(size) > LEARNED * first]
        if idle:
            words.append(
                f"Sets of {', '.join(idle)} keep a mean loss over the epochs above {LEARNED:g} of the first: a set no "
                f"larger than a batch takes one step an epoch, {s.plan.epochs} in all, so that this is no fair test of "
                "the claim at those sizes; it needs more epochs."
            )
        lines.append(" ".join(words))
    return lines


def idled(s: Setting) -> str:
    """The sentence on a setting in which nothing was learned."""
    first, last = (float(np.mean([f[key] for f in s.found])) for key in ("first", "last"))
    return (
        f"- {s.title}: cannot be tried here; {s.plan.epochs} epochs of {s.sizes[0]:,} examples bring the mean loss "
        f"from {first:.2f} to {last:.2f} only, so the small sets were not trained."
    )


def fall(s: Setting) -> str:
    """Whether the correlation with N falls at every step down in size, by paired intervals over seeds."""
    sizes = s.sizes
    rising, unclear = [], []
    for larger, smaller in pairwise(sizes[1:]):
        gap = difference(s.between(sizes[0], larger), s.between(sizes[0], smaller))
        if not gap.excludes_zero:
            unclear.append(f"{larger} to {smaller} ({written(gap)})")
        elif gap.centre < 0:
            rising.append(f"{larger} to {smaller} ({written(gap)})")
    if rising:
        return f"does not hold; Pearson's correlation rises from {', and from '.join(rising)}"
    if unclear:
        return f"not settled; the fall of Pearson's correlation has zero in its interval from {', '.join(unclear)}"
    return "holds; Pearson's correlation falls at every step, each by more than its interval"


def further(s: Setting) -> str:
    """How often a wider gap between two sizes means a smaller correlation, along the rows and columns of the table."""
    m = {(a, b): mean(s.between(a, b)).centre for a in s.sizes for b in s.sizes if a > b}
    pairs = list(pairwise(s.sizes))
    steps = [m[a, b] > m[a, c] for a in s.sizes for b, c in pairs if a > b]
    steps += [m[b, c] > m[a, c] for c in s.sizes for a, b in pairs if b > c]
    return f"In the table of all sizes a wider gap gives a smaller correlation in {sum(steps)} of {len(steps)} steps."


def drawn_up(settings: Sequence[Setting]) -> Any:
    """A panel a setting: correlation with N against size, with the paper's and the ceiling."""
    figure, axes = panels(len(settings), 2.9, sharey=True)
    for place, (ax, s) in enumerate(zip(axes, settings, strict=True)):
        sizes = s.sizes[1:]
        ax.axhspan(*band(s.again()), color=FULL, alpha=0.15, linewidth=0)
        ax.axhline(mean(s.again()).centre, color=FULL, linewidth=1)
        ax.plot(list(s.paper), list(s.paper.values()), color=SOFT, linestyle="--", linewidth=1.2)
        for rank, colour, marker in ((False, COLOURS[0], "o"), (True, COLOURS[1], "s")):
            found = [mean(s.between(s.sizes[0], size, rank)) for size in sizes]
            centres, halves = [f.centre for f in found], np.nan_to_num([f.half_width for f in found])
            ax.errorbar(sizes, centres, yerr=halves, color=colour, marker=marker, markersize=3.5, linewidth=1.3)
        ax.set_xscale("log", base=4)
        ax.set_xticks([1, 4, 16, 64, 256, 1024], ["1", "4", "16", "64", "256", "1024"], fontsize=8)
        ax.set_title(f"{s.data}\nrate {s.plan.rate:g}, batch {s.plan.batch}", fontsize=9, color=INK)
        ax.set_xlabel("examples in the small set", fontsize=9)
        ax.tick_params(labelsize=8)
        ax.set_ylim(-0.1, 1.05)
        ax.grid(alpha=0.3)
        if place == 0:
            ax.set_ylabel(f"correlation with\ndifficulty at {s.sizes[0]:,}", fontsize=9)
    for words, colour, y in (
        ("same N, other start", FULL, 0.66),
        ("paper, N = 4096", SOFT, 0.59),
        ("Spearman", COLOURS[1], 0.52),
        ("Pearson", COLOURS[0], 0.45),
    ):
        key = axes[len(axes) // 2]
        key.text(0.12, y, words, color=colour, fontsize=8, transform=key.transAxes)
    return figure


def band(values: Sequence[float]) -> tuple[float, float]:
    found = mean(values)
    half = float(np.nan_to_num(found.half_width))
    return found.centre - half, found.centre + half
