"""Poisoned labels: flip some, train on them, and see which measure finds them (Appendix C.3 and C.4, and cleanlab).

A twentieth of the labels is moved to another class, each other class alike. LeNet-5 is trained on what results by the
usual recipe of `explain`, once briefly and once at the usual length: a network that has learned its wrong labels by
heart looks at them with other eyes. Then each measure ranks the examples, and is judged by AUROC, average precision and
the share of wrong labels among the first k, k their true number, which is also the share of wrong labels found.

- The contradiction score and the count of contradictory pairs (t = .75), both from the exact kernel of that network.
- Its training loss, and AUM, from the same training.
- cleanlab's two rankings and its set of label issues, from probabilities that five-fold cross-validation gives for
  examples left out. Self-confidence ranks exactly as the loss of the examples left out, so one row stands for both.
- Random numbers.

Two rules also name a set: cleanlab's (`confident.py`), and what `explain` calls a label that looks wrong. Seconds are
processor seconds of everything that a measure needs, training included.

The form of the contradiction score was chosen earlier, on eight kernels of 1,200 examples of the same data sets with
flipped labels. The draws here are fresh: they are named otherwise and nothing was chosen on them.

cleanlab 2.9.0 (numpy 2.4.6, scikit-learn 1.9.1, in an environment of its own) gave exactly the scores, confident
joint and set of label issues of `confident.py` on 44 sets of probabilities: out-of-sample ones of a draw of each data
set at two lengths of training, and 40 made at random with two to seven classes.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold

import winnow as wn
from winnow.core import seeds
from winnow.training import Feed, Recipe, predict, train

from ..parts import Asked, Part
from . import confident
from .parts import drawn
from .poison_tables import MEASURES, SETS, THRESHOLD, figure, table, verdict

EXAMPLES, SHARE, FOLDS = 1200, 0.05, 5  # the paper flips nothing; it only says that flips would contradict
EPOCHS = (3, 30)  # brief, and the usual recipe


def run(asked: Asked) -> Part:
    """Flip labels and find them, on each data set and for each length of training."""
    examples, lengths, folds = (150, (1,), 2) if asked.quick else (EXAMPLES, EPOCHS, FOLDS)
    found: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for data in asked.data:
        for epochs in lengths:
            for repeat in range(asked.seeds):
                settings = {
                    "data": data,
                    "examples": examples,
                    "share": SHARE,
                    "epochs": epochs,
                    "folds": folds,
                    "repeat": repeat,
                }
                kept = asked.shelf.keep("flips", settings, lambda seed, s=settings: searched(seed, **s))
                found.setdefault((data, epochs), []).append(kept)
    return Part(
        "poison",
        f"LeNet-5, the recipe of `explain` with the epochs given, {examples:,} examples with {SHARE:.0%} of labels "
        f"flipped, {asked.seeds} seeds, each with examples, flips and weights of its own; ± is half the 95 % interval "
        f"over seeds. cleanlab's probabilities come from {folds} folds, whose networks see a part less and so take "
        "fewer steps in as many epochs.",
        table(found),
        verdict(found),
        figure(found),
    )


def searched(seed: int, data: str, examples: int, share: float, epochs: int, folds: int, repeat: int) -> dict[str, Any]:
    """Flip, train, and judge every measure."""
    warmed_up()
    x, true = drawn(data, examples, "poison", repeat)
    given, wrong = flipped(true, share, seeds.stream(0, "poison flips", data, examples, repeat))
    source = wn.open((x.numpy(), given))
    feed, recipe = Feed(source), Recipe(epochs=epochs, device="cpu")
    true, given, wrong = true[feed.order], given[feed.order], wrong[feed.order]
    scores, seconds, sets, facts = trained(feed, given, recipe, seed)
    clock = time.process_time()
    logits = left_out(source, feed, given, recipe, folds, seed)
    left = log_softmax(logits.astype(np.float64), axis=1)
    seconds["confidence"] = seconds["margin"] = time.process_time() - clock
    scores["confidence"] = -left[np.arange(examples), given]  # the loss: the same order, without ties at 0
    scores["margin"] = -confident.normalised_margin(np.exp(left), given)
    sets["cleanlab"] = confident.marked(np.exp(left), given)
    scores["random"], seconds["random"] = seeds.stream(seed, "random").random(examples), 0.0
    said = facts.pop("said")
    return {
        "measures": {name: {**ranked(scores[name], wrong), "seconds": seconds[name]} for name in MEASURES},
        "sets": {name: compared(sets[name], wrong) for name in SETS},
        "facts": {
            **facts,
            "wrong": int(wrong.sum()),
            "fitted": float((said == given).mean()),
            "learned_wrong": float((said == given)[wrong].mean()),
            "truth": float((said == true).mean()),
        },
    }


@functools.cache
def warmed_up() -> None:
    """Do everything once in small, so that what is loaded or compiled at first use is in nobody's seconds."""
    x, y = np.random.default_rng(0).random((8, 1, 28, 28), dtype=np.float32), np.arange(8) % 2
    feed, recipe = Feed(wn.open((x, y))), Recipe(epochs=1, device="cpu")
    trained(feed, np.asarray(feed.targets), recipe, 0)


def flipped(labels: NDArray[np.int64], share: float, rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[Any]]:
    """Labels of which a share is moved to another class, each other class alike, and which ones they are."""
    wrong = np.zeros(labels.size, dtype=bool)
    wrong[rng.choice(labels.size, round(share * labels.size), replace=False)] = True
    classes = np.unique(labels).size
    return np.where(wrong, (labels + rng.integers(1, classes, labels.size)) % classes, labels), wrong


def trained(
    feed: Feed, given: NDArray[np.int64], recipe: Recipe, seed: int
) -> tuple[dict[str, Any], dict[str, float], dict[str, Any], dict[str, Any]]:
    """Scores, seconds, sets and facts of one training on everything."""
    recorder = wn.Recorder(len(feed), 10, ids=feed.ids, planned_epochs=recipe.epochs)
    watching = 0.0

    def after_epoch(_epoch: int, model: Any) -> None:
        nonlocal watching
        clock = time.process_time()
        recorder.log(np.arange(len(feed)), predict(model, feed, recipe), given)
        recorder.end_epoch()
        watching += time.process_time() - clock

    clock = time.process_time()
    net = wn.models.build("lenet5", classes=10, shape=feed.source.shape, seed=seeds.number(seed, "init", 0))
    train(net, feed, recipe, seeds.number(seed, "training", 0), after_epoch=after_epoch)
    training = time.process_time() - clock - watching
    aum = wn.score("aum", recorder.signals())
    clock = time.process_time()
    kernel = wn.lpntk.gram(net, feed.inputs(np.arange(len(feed))), given)
    built = time.process_time()
    contradiction = wn.lpntk.contradictions(kernel, given).every
    scored = time.process_time()
    related = wn.lpntk.relations(kernel, given, threshold=THRESHOLD)
    related_in = time.process_time() - scored
    logits = predict(net, feed, recipe).astype(np.float64)
    lengths = kernel.diagonal()
    return (
        {
            "contradiction": contradiction,
            "pairs": related.examples[:, 2],
            "loss": -log_softmax(logits, axis=1)[np.arange(len(feed)), given],
            "aum": aum.values,  # in the order of the recorder's ids, which is the feed's
        },
        {
            "contradiction": training + scored - clock,
            "pairs": training + built - clock + related_in,
            "loss": training + watching / recipe.epochs,
            "aum": training + watching,
        },
        {"explain": looks_wrong(contradiction, given)},
        {
            "said": logits.argmax(axis=1),
            "contradictory": related.total["contradictory"],
            "pairs": related.pairs,
            "lowest": float((kernel / np.maximum.outer(lengths, lengths)).min()),
        },
    )


def left_out(
    source: wn.Source, feed: Feed, given: NDArray[np.int64], recipe: Recipe, folds: int, seed: int
) -> NDArray[np.float32]:
    """Logits of each example by a network that was trained without its fold."""
    out = np.empty((len(feed), 10), dtype=np.float32)
    parts = StratifiedKFold(folds, shuffle=True, random_state=seeds.number(seed, "folds") % 2**32)
    for fold, (inside, outside) in enumerate(parts.split(np.zeros(len(feed)), given)):
        some = Feed(source.at(feed.order[inside]))
        net = wn.models.build("lenet5", classes=10, shape=source.shape, seed=seeds.number(seed, "fold init", fold))
        train(net, some, recipe, seeds.number(seed, "fold training", fold))
        out[outside] = predict(net, Feed(source.at(feed.order[outside]), some.scaling), recipe)
    return out


def looks_wrong(scores: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """The rule that `explain` had in version 0.2: far above the upper quartile of the class."""
    bounds = np.empty(labels.size)
    for number in np.unique(labels):
        members = labels == number
        low, high = np.quantile(scores[members], (0.25, 0.75))
        bounds[members] = high + 3.0 * (high - low)
    return np.asarray(scores > bounds)


def ranked(scores: NDArray[Any], wrong: NDArray[np.bool_]) -> dict[str, float]:
    """How well higher scores go to wrong labels; equal scores count as ordered at random."""
    k = int(wrong.sum())
    bound = np.sort(scores)[-k]
    above, equal = scores > bound, scores == bound
    hits = wrong[above].sum() + wrong[equal].mean() * (k - above.sum())
    return {
        "auroc": float(roc_auc_score(wrong, scores)),
        "average": float(average_precision_score(wrong, scores)),
        "at_k": float(hits / k),
    }


def compared(found: NDArray[np.bool_], wrong: NDArray[np.bool_]) -> dict[str, float]:
    """Precision and recall of a set; an empty one has the precision of a random one."""
    hits = int((found & wrong).sum())
    precision = hits / found.sum() if found.any() else wrong.mean()
    return {"found": int(found.sum()), "precision": float(precision), "recall": hits / int(wrong.sum())}
