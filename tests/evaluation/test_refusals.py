"""What evaluation refuses, as data: a name, what is called, and what the one sentence must say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from winnow.artefacts import Subset
from winnow.core.errors import WinnowError
from winnow.core.run import Run
from winnow.engines import Local
from winnow.evaluation.evaluate import evaluate
from winnow.evaluation.tolerance import smallest_within
from winnow.training import Recipe

from .blobs import QUICK, blobs, line, tiny

SOURCE, TEST = blobs(60), blobs(30, seed=1, prefix="t")
HALF = Subset(SOURCE.ids[:30])
BARE = SOURCE.with_labels(None, "unlabelled")
LINE = line(60)
FLAT = LINE.with_labels(np.ones(60), "regression")


def ask(subsets: Any = None, source: Any = SOURCE, **options: Any) -> Callable[[], object]:
    usual: dict[str, Any] = {"test": TEST, "model": tiny, "recipe": QUICK, "seeds": 1, "engine": Local(1)}
    return lambda: evaluate(source, {"mine": HALF} if subsets is None else subsets, **{**usual, **options})


def search(
    tolerance: Any = 0.01, source: Any = SOURCE, validation: Any = TEST, choose: Any = None, **options: Any
) -> Callable[[], object]:
    usual: dict[str, Any] = {"model": tiny, "recipe": QUICK, "seeds": 2, "run": Run(None, {}), "engine": Local(1)}
    pick = choose or (lambda keep: Subset(SOURCE.ids[: max(2, round(keep * 60))]))
    return lambda: smallest_within(tolerance, pick, source, validation, **{**usual, **options})


REFUSALS: list[tuple[str, Callable[[], object], str]] = [
    ("source is no data", ask(source=12), "source of evaluate must be"),
    ("source without labels", ask(source=BARE), "has none"),
    (
        "source with one class",
        ask(source=SOURCE.with_labels(np.zeros(60, int), "classification", SOURCE.classes)),
        "at least two classes",
    ),
    ("nothing to train on", ask({}, full=False), "something to train on"),
    ("subsets in a list", ask([HALF]), "mapping from names to Subsets"),
    ("a subset is a list of ids", ask({"mine": SOURCE.ids}), "must be a Subset, or one a seed; got ndarray"),
    ("a list of something else", ask({"mine": [3]}), "must hold Subsets; got int"),
    ("the name full", ask({"full": HALF}), "must not be 'full' or start with 'random'"),
    ("the name random", ask({"random@0.5": HALF}), "got 'random@0.5'"),
    ("an empty name", ask({" ": HALF}), "must be words"),
    ("a number for a name", ask({3: HALF}), "must be words; got 3"),
    ("ids of other data", ask({"mine": Subset(np.array(["x", "y"]))}), "was not chosen from this data"),
    ("ids of another kind", ask({"mine": Subset(np.arange(5))}), "was not chosen from this data"),
    ("a subset of one", ask({"mine": Subset(SOURCE.ids[:1])}), "at least 2 examples"),
    ("too few subsets for the seeds", ask({"mine": [HALF]}, seeds=2), "one Subset a seed, 2 in all; got 1"),
    ("a seed without a subset", ask({"mine": {0: HALF}}, seeds=2), "seed 1 has none"),
    ("subsets of unequal size", ask({"mine": [HALF, Subset(SOURCE.ids[:20])]}, seeds=2), "got 20 to 30"),
    ("no test set", ask(test=None), "test of evaluate must be a Source"),
    ("an empty mapping of tests", ask(test={}), "an empty mapping"),
    ("a test set that is an array", ask(test={"a": np.eye(3)}), "test set 'a' of evaluate has no labels"),
    ("a test set without a name", ask(test={"": TEST}), "names of the test sets"),
    ("a test set without labels", ask(test=TEST.with_labels(None, "unlabelled")), "has no labels to measure"),
    (
        "a test set of another task",
        ask(test=TEST.with_labels(np.ones(30), "regression")),
        "task of test of evaluate must be that of the training data, classification; got regression",
    ),
    ("a test set of another shape", ask(test=replace(TEST, shape=(5,))), "shape of test"),
    ("a test set of another kind", ask(test=replace(TEST, kind="tensor")), "kind of test"),
    ("a test set with a new class", ask(test=replace(TEST, classes=("c0", "c1", "zebra"))), "'zebra'"),
    ("a constant regression test", ask({}, source=LINE, test=FLAT, model="mlp"), "R2 has no meaning"),
    (
        "two targets against one",
        ask({}, source=LINE, test=LINE.with_labels(np.eye(60)[:, :2], "regression")),
        "1 target(s) an example; got 2",
    ),
    ("no seeds", ask(seeds=0), "seeds of evaluate must be a whole number of at least 1; got 0"),
    ("an empty list of seeds", ask(seeds=[]), "at least 1 different whole number(s); got []"),
    ("a seed twice", ask(seeds=[1, 1]), "different whole number(s); got [1, 1]"),
    ("a negative seed", ask(seeds=[-1]), "seeds of evaluate"),
    ("seeds in words", ask(seeds="three"), "seeds of evaluate"),
    ("a negative study seed", ask(seed=-1), "seed of evaluate"),
    ("match_iterations above one", ask(match_iterations=1.5), "match_iterations of evaluate must be a number in"),
    ("match_iterations NaN", ask(match_iterations=float("nan")), "match_iterations of evaluate"),
    ("an unknown weighting", ask(weighting="los"), "unknown weighting of evaluate 'los' (nearest: 'loss')"),
    ("recipe in a dict", ask(recipe={"epochs": 3}), "recipe of evaluate must be a Recipe; got dict"),
    ("augmentation of a table", ask(recipe=Recipe(epochs=1, augment=("flip",))), "augment of Recipe is for images"),
    ("an unknown network", ask(model="lenet6"), "nearest: 'lenet5'"),
    ("a network of other inputs", ask(model=lambda: torch.nn.Linear(7, 3)), "cannot take examples of shape (2,)"),
    ("a network of other outputs", ask(model=lambda: torch.nn.Linear(2, 7)), "must give 3 output(s)"),
    ("an engine that is none", ask(engine=4), "engine of evaluate"),
    ("costs of an unknown arm", ask(costs={"yours": {"select": 1}}), "name the arm 'yours'; the subsets are mine"),
    ("costs of an unknown stage", ask(costs={"mine": {"selct": 1}}), "nearest: 'select'"),
    ("negative costs", ask(costs={"mine": {"select": -1}}), "must be a number of at least 0"),
    ("costs in a number", ask(costs={"mine": 3}), "seconds by stage; got int"),
    ("costs in a list", ask(costs=[1]), "costs of evaluate must map arms"),
    (
        "a learning rate that diverges",
        ask({}, recipe=Recipe(epochs=40, optimizer="sgd", lr=1e12, schedule="constant")),
        "arm 'full', seed 0",
    ),
    ("tolerance below zero", search(-0.1), "tolerance of"),
    ("tolerance of one", search(1.0), "tolerance of"),
    (
        "a search without validation labels",
        search(validation=TEST.with_labels(None, "unlabelled")),
        "validation of the search within a tolerance has no labels",
    ),
    ("a search with one validation example", search(validation=TEST.at(np.arange(1))), "at least 2 examples; got 1"),
    ("a search with one seed", search(seeds=1), "at least 2; got 1"),
    ("a search sure of everything", search(confidence=1.0), "confidence of"),
    ("a search that ends before it begins", search(seeds=4, most=3), "most of"),
    ("a search from everything", search(largest=1.0), "largest of"),
    ("a search from zero", search(smallest=0.0), "smallest of"),
    ("a search that chooses elsewhere", search(choose=lambda keep: Subset(np.array(["x", "y"]))), "has no example"),
]


@pytest.mark.parametrize(("call", "fragment"), [row[1:] for row in REFUSALS], ids=[row[0] for row in REFUSALS])
def test_refuses_in_one_sentence(call: Callable[[], object], fragment: str) -> None:
    with pytest.raises(WinnowError) as caught:
        call()
    text = str(caught.value)
    assert fragment in text
    assert "\n" not in text
    assert text.endswith(".")
