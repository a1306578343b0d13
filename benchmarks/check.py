"""How well `winnow check` finds planted wrong labels, beside cleanlab, plain loss and AUM.

    python benchmarks/check.py --out RUN [--data penbased fashion-mnist cifar10] [--seeds 3] [--examples 10000]
        [--epochs 20] [--noise drawn:0.18 ...] [--observe] [--train human:0.2 ...] [--kept] [--publish docs/studies]

Same networks and folds for all methods. cleanlab gets the out-of-fold probabilities of the last epoch, as its users
would compute them, and runs in an environment of its own inside RUN. Where an open encoder is installed
(`winnow.models.open_encoders`), winnow asks a head on its rows too, as `wn.check` does; "winnow, no encoder" does not,
and "cleanlab, encoder" gets the out-of-fold predictions of that head instead. "loss" is the loss of the out-of-fold
predictions that winnow uses, "aum" is from the dynamics of the same networks, and "winnow, one training" judges by one
ordinary training without folds. No constant of winnow was fitted on these sets (studies/checking/calibration.py).
Results are kept in RUN, one file per cell, and the trainings behind them too, so a run that was stopped goes on.
At the end of a cell a person who knows the truth marks the 60 labels that `Issues.to_mark` asks for, in five draws.
--observe does the trainings alone, so that they can be done before the rules are settled. --train also trains on what
`Issues.clean()` keeps, a random subset of the same size, and everything.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))  # the studies share the noise

import cleanlab_scores
from check_tables import publish
from studies.checking import judging
from studies.checking.noise import noisy
from studies.shelf import Shelf
from studies.winning.data import keel

import winnow as wn
from winnow.checking.duplicates import duplicates
from winnow.checking.examination import judge
from winnow.checking.neighbour_rows import neighbour_rows
from winnow.core import registry
from winnow.core import run as store
from winnow.core.errors import WinnowError
from winnow.models.open_encoders import open_encoder
from winnow.scores.class_opinions import head_votes
from winnow.scores.mislabelled import label_evidence
from winnow.scores.ridge_head import ridge_head
from winnow.signals.observation import Look
from winnow.sources.holdout import hold_out
from winnow.training import predict

NOISE = (("uniform", 0.05), ("uniform", 0.2), ("pair", 0.2), ("human", 0.2), ("drawn", 0.18))
TRAINED = (("human", 0.2), ("drawn", 0.18), ("human", 0.0))
DATA = ("penbased", "fashion-mnist", "cifar10", "sst2")
TABLES = ("penbased",)
TRAININGS = 5  # seeds of the trainings on what clean keeps
MARKS = 60  # labels that a person marks
DRAWS = 5  # of these
LIMITED = wn.Local(workers=1)
Seen = tuple[wn.Source, wn.Signals]


class LastEpoch:
    """Predictions for the examples outside after the last epoch: what cleanlab's users have."""

    after_batch = None
    epochs: tuple[int, ...] = ()

    def __init__(self, look: Look) -> None:
        assert look.outside is not None
        assert look.member is not None
        self._outside, self._recipe = look.outside, look.what.recipe
        self._found = np.zeros((look.member.size, look.feed.source.outputs), dtype=np.float32)
        self._where = ~look.member.astype(bool)

    def after_epoch(self, epoch: int, model: torch.nn.Module) -> None:
        """Predict, at the end."""
        if epoch == self._recipe.epochs:
            outputs = torch.from_numpy(predict(model, self._outside, self._recipe))
            self._found[self._where] = torch.softmax(outputs, dim=1).numpy()

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """Zero for the examples inside."""
        return {"last_oof": self._found}


@registry.signal(arrays={"last_oof": ("seeds", "examples", "classes")}, when="fold", tasks=("classification",))
def last_oof(look: Look) -> LastEpoch:
    """Out-of-fold prediction after the last epoch."""
    return LastEpoch(look)


def opened(name: str, examples: int) -> tuple[wn.Source, wn.Source]:
    """Training data with true labels, and test data."""
    if name not in TABLES:
        return wn.open(name, limit=examples), wn.open(name, split="test")
    source, test = hold_out(wn.open(keel(name), name=name), 0.25, 0)
    return source.at(np.arange(min(examples, len(source))), name), test


def observed(source: wn.Source, seed: int, model: str, recipe: wn.Recipe, out: Path) -> wn.Signals:
    """What `wn.check` observes, and the last epoch beside it; kept in the run directory."""
    groups = duplicates(source, None, seed=seed).group
    want = ("oof", "last_oof")
    kept = folder(source, seed, recipe, out, "folds")
    made = wn.observe(source, model, recipe, want=want, groups=groups, seed=seed, out=kept, engine=LIMITED)
    axes = {**(made.axes or {}), "embeddings": ("examples", "embedding")}
    return replace(made, arrays={**made.arrays, "embeddings": neighbour_rows(source, seed)}, axes=axes)


def once_observed(source: wn.Source, seed: int, model: str, recipe: wn.Recipe, out: Path) -> wn.Signals:
    """One ordinary training, kept in the run directory."""
    want, kept = ("dynamics", "predictions"), folder(source, seed, recipe, out, "once")
    return wn.observe(source, model, recipe, want=want, seed=seed, out=kept, engine=LIMITED)


def both_observed(truth: wn.Source, kind: str, rate: float, seed: int, asked: argparse.Namespace) -> None:
    """Train all that a cell needs, and judge nothing."""
    source, recipe = noisy(truth, kind, rate, seed), wn.Recipe(epochs=asked.epochs)
    for observing in (observed, once_observed):
        observing(source, seed, judge(source, "auto"), recipe, asked.out)


def folder(source: wn.Source, seed: int, recipe: wn.Recipe, out: Path, what: str) -> Path:
    """Where trainings on these labels are kept."""
    return out / "observed" / f"{source.fingerprint[:16]}-{recipe.epochs}-{seed}-{what}"


def with_rows(signals: wn.Signals, rows: NDArray[Any]) -> wn.Signals:
    """The same with other rows to find neighbours in and to fit a head on."""
    return replace(signals, arrays={**signals.arrays, "embeddings": rows})


def judged(source: wn.Source, signals: wn.Signals, seed: int) -> dict[str, Any]:
    """What `wn.check` says of every label, and the noise rate."""
    found = wn.check(source, signals=signals, kinds=("label",), seed=seed, engine=LIMITED)
    rows = found.kinds == "label"
    assert found.noise_rate is not None
    return {
        "probability": found.probabilities[rows],
        "flagged": found.flagged[rows],
        "suggestion": found.suggestions[rows],
        "estimate": [found.noise_rate.centre, found.noise_rate.low, found.noise_rate.high],
    }


def cell(
    truth: wn.Source, kind: str, rate: float, seed: int, asked: argparse.Namespace, python: Path
) -> dict[str, Any]:
    """Every method on one data set with one kind of errors."""
    source = noisy(truth, kind, rate, seed)
    wrong = np.asarray(source.labels) != np.asarray(truth.labels)
    model, recipe = judge(truth, "auto"), wn.Recipe(epochs=asked.epochs)
    clock, work = time.perf_counter(), time.process_time()
    signals = observed(source, seed, model, recipe, asked.out)
    encoder = open_encoder(source.kind, source.shape)
    ours, theirs = {}, {"cleanlab": cleanlab(source, signals.array("last_oof").mean(axis=0), asked.out, python)}
    if encoder is not None:
        ours["winnow, no encoder"] = judged(source, signals, seed)
        signals = with_rows(signals, encoded(truth, encoder, asked.out))
        rows = signals.embeddings.reshape(len(source), -1)
        head = ridge_head(rows, source.ids, np.eye(len(source.classes))[np.asarray(source.labels)])
        theirs["cleanlab, encoder"] = cleanlab(source, head_votes(head.predictions), asked.out, python)
    ours["winnow"] = judged(source, signals, seed)
    seconds = {"clock": time.perf_counter() - clock, "core": time.process_time() - work}
    plain = once_observed(source, seed, model, recipe, asked.out)
    ours["winnow, one training"] = judged(source, plain, seed)
    labels = np.asarray(source.labels)
    oof = signals.array("oof").mean(axis=0)[np.arange(labels.size), labels]
    suspicion = {
        **{name: one["probability"] for name, one in ours.items()},
        **{name: 1 - one["quality"] for name, one in theirs.items()},
        "loss": -oof,
        "aum": wn.score("aum", signals).values,
    }
    names = np.array(source.classes)
    classes = label_evidence(signals, trees=source.kind == "table").classes
    best = judging.oracle(judging.observed_numbers(signals, classes), wrong)
    flagged = {name: one["flagged"] for name, one in ours.items()}
    flagged |= {name: one["flagged"] for name, one in theirs.items()} | {"oracle": best > 0.5}
    return {
        "ap": {name: judging.average_precision(wrong, one) for name, one in {**suspicion, "oracle": best}.items()},
        "f1": {name: judging.f1(wrong, one) for name, one in flagged.items()},
        "flagged": {name: float(one.mean()) for name, one in flagged.items()},
        "truth": float(wrong.mean()),
        "estimate": {name: one["estimate"] for name, one in ours.items()},
        "suggested": {
            name: float((one["suggestion"] == names[truth.labels])[wrong].mean()) for name, one in ours.items()
        },
        "reliability": {name: judging.reliability(wrong, one["probability"]) for name, one in ours.items()},
        "accuracy": float((signals.array("oof").mean(axis=0).argmax(axis=1) == truth.labels).mean()),
        "marks": [judging.after_marks(source.ids, ours["winnow"]["probability"], wrong, draw) for draw in range(DRAWS)],
        "seconds": seconds,
        "examples": len(source),
    }


def encoded(source: wn.Source, encoder: str, out: Path) -> NDArray[Any]:
    """Rows of the open encoder, kept in the run directory."""
    return wn.embed(source, encoder, out=out / "encoded" / source.fingerprint[:16]).take(source.ids).embeddings


def cleanlab(source: wn.Source, probabilities: NDArray[Any], out: Path, python: Path) -> Mapping[str, NDArray[Any]]:
    """Quality scores and flags by cleanlab, in its own environment, from out-of-fold probabilities."""
    folder = out / "cleanlab"
    folder.mkdir(parents=True, exist_ok=True)
    given, answer = folder / "given.npz", folder / "answer.npz"
    np.savez(given, labels=source.labels, probabilities=probabilities)
    subprocess.run([python, cleanlab_scores.__file__, given, answer], check=True)
    with np.load(answer) as found:
        return dict(found)  # the next answer is written over this file


def seen_by_check(truth: wn.Source, kind: str, rate: float, seed: int, asked: argparse.Namespace) -> Seen:
    """The data with errors, and all that `wn.check` has to judge their labels."""
    source = noisy(truth, kind, rate, seed)
    model, recipe = judge(truth, "auto"), wn.Recipe(epochs=asked.epochs)
    signals, encoder = observed(source, seed, model, recipe, asked.out), open_encoder(source.kind, source.shape)
    if encoder is not None:
        signals = with_rows(signals, encoded(truth, encoder, asked.out))
    return source, signals


def true_marks(truth: wn.Source, source: wn.Source, found: wn.Issues, draw: int) -> dict[Any, bool]:
    """What a person who knows the truth says of the labels that `Issues.to_mark` asks for."""
    wrong = dict(zip(source.ids.tolist(), (source.labels != np.asarray(truth.labels)).tolist(), strict=True))
    return {id: wrong[id] for id in found.to_mark(MARKS, seed=draw).tolist()}


def trained(name: str, kind: str, rate: float, marks: bool, asked: argparse.Namespace) -> dict[str, Any]:
    """Accuracy of a training on what `clean` keeps, on a random subset of that size, and on everything."""
    truth, test = opened(name, asked.examples)
    source, signals = seen_by_check(truth, kind, rate, 0, asked)
    model, recipe = judge(truth, "auto"), wn.Recipe(epochs=asked.epochs)
    found = wn.check(source, signals=signals, engine=LIMITED)
    if marks:
        found = wn.check(source, signals=signals, marks=true_marks(truth, source, found, 0), engine=LIMITED)
    subset = found.clean()
    study = wn.evaluate(
        source, {"clean": subset}, test=test, model=model, recipe=recipe, seeds=TRAININGS, same_steps=False,
        engine=LIMITED,
    )  # fmt: skip
    random = next(arm.name for arm in study.arms if arm.name.startswith("random"))
    pairs = {"clean": "clean", "random": random, "everything": "full"}
    gaps = {other: study.versus("clean", pairs[other]) for other in ("random", "everything")}
    return {
        "kept": len(subset) / len(source),
        "arms": {word: study.interval(arm).centre for word, arm in pairs.items()},
        "gains": {other: [gap.centre, gap.low, gap.high] for other, gap in gaps.items()},
    }


def _once(make: Callable[..., dict[str, Any]], *settings: Any) -> Callable[[int], dict[str, Any]]:
    """For the shelf: the seed is among the settings, not drawn by the shelf."""
    return lambda _: make(*settings)


def kept(folder: Path) -> list[dict[str, Any]]:
    """Every result that a run directory holds, whatever its sizes, in the order of the tables."""
    found = [store.read_json(file) for file in sorted(folder.glob("*.json"))]
    order = [*NOISE, *TRAINED]
    return sorted(
        ({**one["settings"], **one["values"]} for one in found),
        key=lambda one: (
            DATA.index(one["data"]),
            order.index((one["kind"], one["rate"])),
            one.get("seed", 0),
            one.get("marks", 0),
        ),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="run directory")
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--examples", type=int, default=10_000, help="at most so many training examples")
    parser.add_argument("--epochs", type=int, default=20)
    noise, trains = ({f"{kind}:{rate:g}": (kind, rate) for kind, rate in some} for some in (NOISE, TRAINED))
    parser.add_argument("--noise", nargs="+", choices=list(noise), default=list(noise), help="kinds of errors")
    parser.add_argument("--observe", action="store_true", help="only the trainings of the cells, which are kept")
    parser.add_argument(
        "--train", nargs="+", choices=list(trains), metavar="KIND:SHARE", help="errors with which to train on clean()"
    )
    parser.add_argument("--kept", action="store_true", help="only the tables, of all that is kept in RUN")
    parser.add_argument("--publish", type=Path, help="also write table and figure into this folder of the docs")
    asked = parser.parse_args()
    if asked.kept:
        publish(kept(asked.out / "cells"), kept(asked.out / "trainings"), asked)
        return
    torch.set_num_threads(1)
    asked.out.mkdir(parents=True, exist_ok=True)
    python = cleanlab_scores.environment(asked.out / "cleanlab" / "environment")
    shelf = Shelf(asked.out, "check")
    cells, trainings = [], []
    for name in asked.data:
        try:
            truth, _ = opened(name, asked.examples)
        except WinnowError as error:
            print(f"{name} is left out: {error}", flush=True)
            continue
        for kind, rate in [noise[one] for one in asked.noise]:
            for seed in range(asked.seeds):
                if asked.observe:
                    both_observed(truth, kind, rate, seed, asked)
                    continue
                said = {"data": name, "kind": kind, "rate": rate, "seed": seed}
                sizes = {"examples": asked.examples, "epochs": asked.epochs}
                made = shelf.keep("cells", {**said, **sizes}, _once(cell, truth, kind, rate, seed, asked, python))
                cells.append({**said, **sizes, **made})
                shown = ", ".join(f"{method} {value:.3f}" for method, value in made["ap"].items())
                print(f"{name}, {kind} {rate:g}, seed {seed}: {shown}", flush=True)
        for kind, rate in [trains[one] for one in asked.train or ()]:
            for by_marks in (False, True) if rate else (False,):
                said = {"data": name, "kind": kind, "rate": rate, **({"marks": MARKS} if by_marks else {})}
                sizes = {"examples": asked.examples, "epochs": asked.epochs}
                made = shelf.keep("trainings", {**said, **sizes}, _once(trained, name, kind, rate, by_marks, asked))
                trainings.append({**said, **sizes, **made})
                print(f"{name}, {kind} {rate:g}, {MARKS if by_marks else 'no'} marks: {made}", flush=True)
    publish(cells, trainings, asked)


if __name__ == "__main__":
    main()
