"""Models that stand for people: their softened probabilities decide which labels are wrong, and how.

People confuse what looks alike, more often where a picture is hard, and two of them do not make the same errors. So a
strong model that knows more than the networks under test says how likely each class is for each example, and wrong
labels are drawn from that (`noise.flipped`, the kind `drawn`).

| data | who stands for people |
|---|---|
| CIFAR-10 | a ResNet-56 that was trained on all of CIFAR-10 (`WINNOW_DATA/weights`), and so on these images |
| SST-2 | a logistic regression on tf-idf, trained on 30,000 other phrases |
| other images | a convnet trained on 10,000 other images, if there are any; otherwise as tables |
| tables | extremely randomised trees, out of fold |

Nothing that is judged may use these models.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

import winnow as wn

__all__ = ["annotator"]

Floats = NDArray[np.float64]
OTHERS = {"fashion-mnist": 10_000, "sst2": 30_000}  # how many examples the model is trained on
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of the inputs of the ResNet
TREES, FOLDS = 200, 5


def annotator(truth: wn.Source) -> Floats:
    """Log probability of each class for each example of a set with its true labels, in the order of the source."""
    name = truth.name.partition(":")[0]
    if name == "cifar10":
        return _resnet(truth)
    if name in OTHERS:
        every = wn.open(name)
        rest = np.flatnonzero(~np.isin(every.ids, truth.ids))
        others = every.at(np.random.default_rng(0).permutation(rest)[: OTHERS[name]], f"{name}, others")
        said = _words(truth, others) if truth.kind == "text" else _convnet(truth, others)
    else:
        said = _trees(truth)
    known = np.eye(len(truth.classes))[np.asarray(truth.labels)]
    return np.asarray(np.log((np.exp(said) + known) / 2))


def _resnet(truth: wn.Source) -> Floats:
    from safetensors.torch import load_file

    model = wn.models.build("resnet56", classes=10, shape=(3, 32, 32))
    model.load_state_dict(load_file(Path(os.environ["WINNOW_DATA"]) / "weights" / "cifar10-resnet56.safetensors"))
    model.eval()
    found = []
    with torch.inference_mode():
        for start in range(0, len(truth), 250):
            rows = truth.read(np.arange(start, min(start + 250, len(truth))))
            x = torch.from_numpy(rows).float() / 255
            x = (x - torch.tensor(MEAN)[:, None, None]) / torch.tensor(STD)[:, None, None]
            found.append(torch.log_softmax(model(x), dim=1).double().numpy())
    return np.concatenate(found)


def _convnet(truth: wn.Source, others: wn.Source) -> Floats:
    from winnow.training import Feed, predict, train

    model, recipe = (
        wn.models.build("convnet:width=16", classes=len(truth.classes), shape=truth.shape),
        wn.Recipe(epochs=8),
    )
    known = Feed(others)
    train(model, known, recipe, seed=0)
    feed = Feed(truth, scaling=known.scaling)
    found = np.empty((len(truth), len(truth.classes)))
    found[feed.order] = predict(model, feed, recipe)
    return np.asarray(found - np.logaddexp.reduce(found, axis=1, keepdims=True))


def _words(truth: wn.Source, others: wn.Source) -> Floats:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    texts, more = (
        [" ".join(map(str, row[row > 0])) for row in one.read(np.arange(len(one)))] for one in (truth, others)
    )  # words are numbers
    bag = TfidfVectorizer(ngram_range=(1, 2), min_df=2, token_pattern=r"\S+")
    model = make_pipeline(bag, LogisticRegression(C=10.0, max_iter=300))
    return np.asarray(model.fit(more, np.asarray(others.labels)).predict_log_proba(texts))


def _trees(truth: wn.Source) -> Floats:
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.model_selection import cross_val_predict

    rows = truth.read(np.arange(len(truth))).reshape(len(truth), -1)
    model = ExtraTreesClassifier(TREES, min_samples_leaf=2, random_state=0)
    found = cross_val_predict(model, rows, np.asarray(truth.labels), cv=FOLDS, method="predict_proba")
    return np.log(found + 0.5 / TREES)
