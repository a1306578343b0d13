"""What those that do not know the label of an example say of its class: other folds' networks, neighbours, and a head.

q joins all of them: softmax(sum over parts of w log p + b), with the weights w >= 0 and biases b that predict the given
labels best. For the rows of tables a random forest is asked too, by the trees that were not grown on the example: where
networks have not learned a table well, trees often have. Networks that have learned errors which follow a rule predict
the given labels well, and so count for much in q. Neighbours and a head on the embeddings learn such rules less. So
what the embeddings say alone, joined in the same way, is kept beside q, and `mislabelled` hears both.

Without `oof`, q is the mean prediction of the training itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core.seeds import drawn_first, stream
from .arithmetic import labels_of
from .ridge_head import RidgeHead, ridge_head

__all__ = ["NEIGHBOURS", "ClassOpinions", "class_opinions", "head_votes", "neighbour_votes", "tree_votes"]

Floats = NDArray[np.float64]

STEEP = 4.0  # how probabilities follow from the predictions of the head: softmax of so many times these
NEIGHBOURS = 10
TREES = 200
FITTED = 50_000  # examples that the weights, and each tree, are fitted on, at most
BLOCK = 65_536  # examples that a tree votes on at a time
LEAVES = 10_000_000  # numbers in the leaves of a tree, about: one per example that it is grown on, and class


@dataclass(frozen=True, eq=False)
class ClassOpinions:
    """Probability of each class for each example.

    Parameters
    ----------
    classes
        q, by all that do not know the label.
    rows
        By neighbours and the head on the embeddings alone, if there are any.
    head
        That head, if it was fitted here.
    networks
        How often the other folds' networks alone predict the given label.
    """

    classes: Floats
    rows: Floats | None = None
    head: RidgeHead | None = None
    networks: float = 0.0


def class_opinions(signals: Signals, beside: Sequence[Floats] | None = None, trees: bool = False) -> ClassOpinions:
    """Return what those that do not know the labels say.

    Parameters
    ----------
    signals
        Must have `oof` or `predictions`.
    beside
        Class probabilities that follow from the embeddings, to be heard beside the networks; computed from
        `embeddings`, if there are any, unless given.
    trees
        Whether a random forest is grown on the embeddings too: these are the columns of a table.
    """
    if "oof" not in signals:
        return ClassOpinions(np.asarray(signals.array("predictions").mean(axis=0, dtype=np.float64)))
    labels, oof = labels_of(signals), signals.array("oof").mean(axis=0, dtype=np.float64)
    head = None
    if beside is None and "embeddings" in signals:
        head = ridge_head(signals.embeddings.reshape(len(signals), -1), signals.ids, np.eye(oof.shape[1])[labels])
        beside = [neighbour_votes(signals, labels, oof.shape[1]), head_votes(head.predictions)]
        if trees:
            beside.append(tree_votes(signals, labels, oof.shape[1]))
    every = _joined([oof, *(beside or ())], labels, signals.ids)
    right = float((oof.argmax(axis=1) == labels).mean())
    return ClassOpinions(every, _joined(beside, labels, signals.ids) if beside else None, head, right)


def neighbour_votes(
    signals: Signals, labels: NDArray[np.int64], classes: int, near: NDArray[np.int64] | None = None
) -> Floats:
    """Share of each class among the nearest neighbours in the embeddings, with half a vote for every class."""
    from ..signals.neighbours import nearest

    count = min(NEIGHBOURS, len(signals) - 1)
    if near is None:
        near = nearest(signals.embeddings.reshape(len(signals), -1), count, ids=signals.ids).positions
    votes = np.full((len(signals), classes), 0.5)
    rows = np.arange(len(signals))
    for k in range(count):
        votes[rows, labels[near[:, k]]] += 1.0
    return np.asarray(votes / (count + 0.5 * classes))


def tree_votes(signals: Signals, labels: NDArray[np.int64], classes: int) -> Floats:
    """Votes of those trees of a random forest on the embeddings that were not grown on the example.

    With half a vote for every class, as for neighbours. Trees are grown, asked and dropped one after the other, so that
    a forest of large trees is never held.
    """
    import torch
    from sklearn.tree import DecisionTreeClassifier

    order = np.argsort(signals.ids, kind="stable")  # the same forest whatever the order of the examples
    rows = signals.embeddings.reshape(len(signals), -1)[order].astype(np.float32, copy=False)
    known, given = np.unique(labels[order], return_inverse=True)
    size = min(FITTED, len(rows), max(1, LEAVES // classes))

    def grown(seed: int) -> tuple[DecisionTreeClassifier, NDArray[np.int64]]:
        """A tree, and the examples that it was not grown on."""
        drawn = stream(0, "tree votes", seed).integers(0, len(rows), size)
        tree = DecisionTreeClassifier(max_features="sqrt", random_state=seed).fit(rows[drawn], given[drawn])
        return tree, np.flatnonzero(np.bincount(drawn, minlength=len(rows)) == 0)

    found, asked = np.full((len(rows), classes), 0.5), np.zeros(len(rows))
    workers = torch.get_num_threads()
    with ThreadPoolExecutor(workers) as pool:
        for start in range(0, TREES, workers):
            for tree, outside in pool.map(grown, range(start, min(start + workers, TREES))):
                for at in range(0, outside.size, BLOCK):
                    some = outside[at : at + BLOCK]
                    found[np.ix_(some, known[tree.classes_])] += tree.predict_proba(rows[some])
                asked[outside] += 1
    found /= asked[:, None] + 0.5 * classes
    votes = np.empty_like(found)
    votes[order] = found
    return votes


def head_votes(predictions: Floats) -> Floats:
    """Class probabilities that follow from what a head on the embeddings predicts for each class."""
    return _softmax(STEEP * predictions)


def _joined(parts: Sequence[Floats], labels: NDArray[np.int64], ids: NDArray[np.generic]) -> Floats:
    """softmax(sum over parts of w log p + b), with the weights w >= 0 and biases b that predict the labels best."""
    from scipy.optimize import minimize

    count = parts[0].shape[1]
    logs = [np.log(np.clip(part, 1e-3, 1.0)) for part in parts]
    rows = np.sort(drawn_first(0, ("label evidence",), ids, min(FITTED, len(labels))))
    some, truth = [one[rows] for one in logs], labels[rows]
    hit = np.eye(count)[truth]

    def cost(values: Floats) -> tuple[float, Floats]:
        weights, bias = values[: len(some)], values[len(some) :]
        chances = _softmax(_weighted(weights, some) + bias)
        error = (chances - hit) / truth.size
        slope = [float((error * one).sum()) for one in some]
        loss = -np.log(np.maximum(chances[np.arange(truth.size), truth], 1e-300)).mean() + 1e-3 * (bias @ bias)
        return float(loss), np.concatenate([slope, error.sum(axis=0) + 2e-3 * bias])

    start = np.concatenate([np.full(len(some), 1 / len(some)), np.zeros(count)])
    bounds = [(0.0, 5.0)] * len(some) + [(-5.0, 5.0)] * count
    best = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 100}).x
    return _softmax(_weighted(best[: len(logs)], logs) + best[len(logs) :])


def _weighted(weights: Floats, parts: list[Floats]) -> Floats:
    return np.asarray(sum(weight * part for weight, part in zip(weights, parts, strict=True)))


def _softmax(values: Floats) -> Floats:
    shifted = np.exp(values - values.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))
