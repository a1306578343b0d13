"""Bad input to the scores: what is called, and a fragment of the one sentence it gets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from winnow.artefacts import Signals
from winnow.core.errors import WinnowError
from winnow.scores.score import score
from winnow.testing.planted import as_task, planted

GOOD = planted(n=12, seeds=1, epochs=5, models=20).signals
NARROW = Signals(
    ids=np.arange(3),
    task="classification",
    labels=[0, 0, 0],
    classes=("only",),
    epochs=(1,),
    arrays={"logits": np.zeros((1, 1, 3, 1))},
)
OUT_OF_RANGE = replace(
    GOOD, labels=np.where(np.arange(12) == 3, 7, GOOD.labels), classes=(), arrays={"logits": GOOD.logits}
)
ONE_EPOCH = planted(n=12, seeds=1, epochs=1, models=20).signals
FEW_MODELS = replace(GOOD, arrays={"ensemble_member": np.ones((2, 12)), "ensemble_correct": np.ones((2, 12))})

REFUSALS = [
    ("unknown score", lambda: score("el2", GOOD), "unknown score 'el2' (nearest: 'el2n')"),
    ("score that is no word", lambda: score(3, GOOD), "unknown score 3"),
    ("unknown parameter of a score", lambda: score("el2n", GOOD, epochs=3), "(nearest: 'epoch')"),
    ("parameter of a score that has none", lambda: score("grand", GOOD, epoch=3), "parameter of score 'grand'"),
    ("source in place of signals", lambda: score("el2n", [1, 2]), "must be Signals"),
    ("array that was not observed", lambda: score("el2n", ONLY_LOSSES), "want=('dynamics',)"),
    ("logits that were not observed", lambda: score("margin", ONLY_LOSSES), "want=('logits',)"),
    ("class score on regression", lambda: score("el2n", as_task(GOOD, "regression")), "reads class probabilities"),
    ("label score on unlabelled data", lambda: score("aum", as_task(GOOD, "unlabelled")), "there are none"),
    ("epoch that was not recorded", lambda: score("el2n", GOOD, epoch=9), "(1, 2, 3, 4, 5); got 9"),
    ("epoch zero", lambda: score("margin", GOOD, epoch=0), "of at least 1; got 0"),
    ("epoch that is no number", lambda: score("entropy", GOOD, epoch="first"), "unknown epoch of score 'entropy'"),
    ("epoch that is not whole", lambda: score("confidence", GOOD, epoch=1.5), "whole number"),
    (
        "window longer than what was recorded",
        lambda: score("dual", GOOD, window=6),
        "observe more epochs or pass a smaller",
    ),
    ("one epoch has no window", lambda: score("dual", ONE_EPOCH), "observe more epochs"),
    ("window of one epoch", lambda: score("dynamic_uncertainty", GOOD, window=1), "of at least 2; got 1"),
    ("window without a difference to vary", lambda: score("tdds", GOOD, window=2), "of at least 3; got 2"),
    ("epochs before the first recorded", lambda: score("dual", LATE, epochs=2), "must reach the first recorded"),
    ("decay of nothing", lambda: score("tdds", GOOD, window=4, decay=0), "decay of score 'tdds'"),
    ("unknown difference", lambda: score("tdds", GOOD, window=4, difference="mse"), "known: kl, loss"),
    ("margin on an unknown space", lambda: score("aum", GOOD, on="logit"), "(nearest: 'logits')"),
    ("more centroids than examples", lambda: score("prototype", GOOD, k=13), "from 1 to 12; got 13"),
    ("negative seed of a score", lambda: score("random", GOOD, seed=-1), "seed of score 'random'"),
    ("ensemble too small", lambda: score("memorization", FEW_MODELS), "12 are in all 2 subsets"),
    ("nobody left out", lambda: score("dichotomous", FEW_MODELS), "12 are in all 2 subsets"),
    ("unknown way to disagree", lambda: score("disagreement", GOOD, measure="mutual"), "known: entropy, information"),
    ("unknown kind of influence", lambda: score("ensemble_influence", GOOD, of="sum"), "of of score"),
    ("label outside the logits", lambda: score("el2n", OUT_OF_RANGE), "from 0 to 2; got 7"),
    ("logits of one class", lambda: score("margin", NARROW), "two classes or more; got 1"),
]

ONLY_LOSSES = replace(GOOD, arrays={"losses": GOOD.losses})
LATE = replace(GOOD, epochs=(11, 12, 13, 14, 15))


@pytest.mark.parametrize(("call", "fragment"), [row[1:] for row in REFUSALS], ids=[row[0] for row in REFUSALS])
def test_refused_in_one_sentence(call, fragment):
    with pytest.raises(WinnowError) as caught:
        call()
    message = str(caught.value)
    assert fragment in message
    assert "\n" not in message
    assert len(message) < 400
