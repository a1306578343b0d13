"""Does pretraining on a pruned set transfer worse? Half of CIFAR-10, then a linear probe on Fashion-MNIST.

One half is chosen by `wn.prune` with the recipe of the pretraining. Networks are pretrained on it with and without its
soft targets, on random halves with and without them, on everything for as many steps as a half gets, and on everything
in full. All of a seed start from the same weights; halves are drawn anew for each seed. A linear head is then trained
on their frozen features.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import winnow as wn
from winnow.artefacts.soft_labels import SoftLabels
from winnow.models.weight_files import write_weights
from winnow.signals.soft_targets import soft_targets
from winnow.training import Feed, Scaling, hold, predict, train

from ..parts import Asked, Part
from ..winning.cells import MATCH, observed_and_pruned
from ..winning.data import Setting

NETWORK = "convnet:width=16"
KEEP = 0.5
UNTRAINED, RANDOM, FULL = "untrained", "random half", "everything in full"


@dataclass(frozen=True)
class Pretraining:
    """On which positions, for as many steps as how many examples get, with soft targets or not."""

    positions: np.ndarray
    steps_of: int
    soft: bool = False


def run(asked: Asked) -> Part:
    """Pretrain every arm, probe it, and compare."""
    images, exam, epochs, heads = (300, 200, 1, 2) if asked.quick else (4_000, 4_000, 12, 30)
    whole, own_test = wn.open("cifar10", limit=images), wn.open("cifar10", split="test", limit=exam)
    other = wn.open("fashion-mnist", limit=images)
    test = wn.open("fashion-mnist", split="test", limit=exam)
    setting = Setting("half", NETWORK, epochs, augment=("flip",))
    one = wn.Local(workers=1)
    signals, subset = observed_and_pruned(setting, whole, KEEP, asked.out, one)
    soft = soft_targets(signals, weight=subset.certificate["soft_weight"])
    tuned: dict[str, list[wn.models.Frozen]] = {}
    own: dict[str, list[float]] = {}
    for seed in range(asked.seeds):
        for name, arm in arms(whole, signals, seed).items():
            file, accuracy = learned(asked, setting, whole, own_test, soft, name, arm, seed)
            plan = wn.models.FineTune(NETWORK, file)
            network = wn.models.build(plan, classes=10, shape=other.shape, kind="image", seed=seed)
            tuned.setdefault(name, []).append(wn.models.Frozen(network, layer="penultimate"))
            own.setdefault(name, []).append(accuracy)
    study = wn.probe(
        other, tuned, test=test, seeds=asked.seeds, epochs=heads, lr=3e-3, out=asked.out / "probe", engine=one
    )
    veto = subset.certificate["veto"]
    return Part(
        "transfer",
        f"Pretraining: {images:,} images of CIFAR-10, {NETWORK}, {epochs} epochs, matched iterations {MATCH:g}; halves "
        f"by {veto['candidate']}, which its trial would {'let pass' if veto['holds'] else 'turn down'}. Probe: "
        f"{len(other):,} images of Fashion-MNIST, {heads} epochs, {len(test):,} test images; {asked.seeds} seeds.",
        rows(study, own),
        verdict(study),
    )


def arms(whole: wn.Source, signals: wn.Signals, seed: int) -> dict[str, Pretraining]:
    """What is pretrained under a seed; selection and random halves are drawn anew for each."""
    chosen = wn.prune(whole, KEEP, targets="labels", veto=0, signals=signals, seed=seed).indices(whole)
    drawn = wn.prune(whole, KEEP, method="random", targets="labels", seed=seed).indices(whole)
    everything, size = np.arange(len(whole)), len(chosen)
    return {
        UNTRAINED: Pretraining(drawn, 0),
        RANDOM: Pretraining(drawn, size),
        "random half + soft": Pretraining(drawn, size, True),
        "pruned half": Pretraining(chosen, size),
        "pruned half + soft": Pretraining(chosen, size, True),
        "everything, same steps": Pretraining(everything, size),
        FULL: Pretraining(everything, len(whole)),
    }


def learned(
    asked: Asked,
    setting: Setting,
    whole: wn.Source,
    test: wn.Source,
    soft: SoftLabels,
    name: str,
    arm: Pretraining,
    seed: int,
) -> tuple[Path, float]:
    """The weights of one pretraining in a file, and its accuracy on its own test set."""
    words = f"{name.replace(', ', '-').replace(' ', '-')}-{seed}"
    file = asked.out / "weights" / f"{words}.safetensors"

    def make(_: int) -> float:
        part = hold(whole.at(arm.positions))
        feed = Feed(part, Scaling.of(part, None))
        network = wn.models.build(NETWORK, classes=10, shape=whole.shape, kind="image", seed=seed)
        steps = setting.recipe.matched_steps(arm.steps_of, len(whole), MATCH) if arm.steps_of else 0
        how = {"soft": soft.at(feed.ids), "soft_weight": soft.weight} if arm.soft else {}
        if steps:
            train(network, feed, setting.recipe, seed, steps=steps, **how)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_weights(file, network.state_dict(), {})
        exam = Feed(test, feed.scaling)
        return float((predict(network, exam, setting.recipe).argmax(1) == np.asarray(test.labels)[exam.order]).mean())

    known = {"arm": name, "seed": seed, "images": len(whole), "epochs": setting.epochs, "steps_of": arm.steps_of}
    return file, asked.shelf.keep("pretraining", known, make)


def rows(study: wn.Study, own: Mapping[str, list[float]]) -> list[str]:
    """One line per arm: accuracy where it was pretrained, and by a probe elsewhere."""
    lines = [
        "| pretrained on | CIFAR-10, % | probe on Fashion-MNIST, % | against a random half, points |",
        "|---|--:|--:|--:|",
    ]
    for row in study.table():
        name = row["arm"]
        gap = "" if name == RANDOM else points(study, name, RANDOM)
        lines.append(f"| {name} | {100 * np.mean(own[name]):.2f} | {100 * row[study.metric]:.2f} | {gap} |")
    return lines


def verdict(study: wn.Study) -> list[str]:
    """Whether a pruned half transfers worse."""
    return [
        "Does pretraining on a pruned half transfer worse? Points of the probe, with 95 % intervals:",
        f"pruned half against random half: {points(study, 'pruned half', RANDOM)};",
        f"both with soft targets: {points(study, 'pruned half + soft', 'random half + soft')};",
        f"pruned half + soft against everything for the same steps: "
        f"{points(study, 'pruned half + soft', 'everything, same steps')};",
        f"and against everything in full: {points(study, 'pruned half + soft', FULL)}.",
    ]


def points(study: wn.Study, one: str, other: str) -> str:
    """A difference in points with its interval."""
    gap = study.versus(one, other)
    return f"{100 * gap.centre:+.2f} ({100 * gap.low:+.2f} to {100 * gap.high:+.2f})"
