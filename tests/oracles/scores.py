"""Slow, obvious twins of every score: plain loops over examples in float64, written from the definitions.

Each takes what the fast one takes and returns a list. `TWINS` names them; the conformance suite fails on a registered
score without a twin.
"""

from __future__ import annotations

import math

import numpy as np

from tests.oracles import influence
from tests.oracles import mislabelled as labels_twin
from tests.oracles.draws import uniform
from winnow.scores.class_opinions import class_opinions
from winnow.scores.evidence_slope import evidence_slope
from winnow.scores.mislabelled import POWER, WEIGHTS
from winnow.scores.wrong_share import LEAST, TRAINED, wrong_share
from winnow.signals.clusters import STARTS, starting_rows, unit_rows


def probabilities(row):
    top = max(float(z) for z in row)
    raised = [math.exp(float(z) - top) for z in row]
    return [value / math.fsum(raised) for value in raised]


def mean(values):
    values = list(values)
    return math.fsum(values) / len(values)


def deviation(values):
    middle = mean(values)
    return math.sqrt(mean((value - middle) ** 2 for value in values))


def variance(values):
    return deviation(values) ** 2


def early(signals):
    return next(e for e in range(len(signals.epochs)) if signals.epochs[e] >= signals.planned_epochs / 10 - 1e-9)


def true_class(signals, s, e, i):
    return probabilities(signals.logits[s, e, i])[int(signals.labels[i])]


def each(signals, value):
    """Mean over seeds of value(seed, example), for every example."""
    return [mean(value(s, i) for s in range(signals.logits.shape[0])) for i in range(len(signals))]


def el2n(signals):
    row = early(signals)

    def value(s, i):
        p = probabilities(signals.logits[s, row, i])
        return math.sqrt(math.fsum((p[k] - (k == signals.labels[i])) ** 2 for k in range(len(p))))

    return each(signals, value)


def grand(signals):
    norms = signals.array("gradient_norms")
    return [mean(float(norms[s, i]) for s in range(norms.shape[0])) for i in range(len(signals))]


def forgetting(signals):
    seeds, epochs, n, _ = signals.logits.shape
    table = []
    for s in range(seeds):
        counts = []
        for i in range(n):
            right = [
                max(range(len(row)), key=lambda k, row=row: row[k]) == signals.labels[i]
                for row in signals.logits[s, :, i]
            ]
            lost = sum(right[e] and not right[e + 1] for e in range(epochs - 1))
            counts.append(lost if any(right) else None)
        worst = max((count for count in counts if count is not None), default=0)
        table.append([worst + 1 if count is None else count for count in counts])
    return [mean(table[s][i] for s in range(seeds)) for i in range(n)]


def aum(signals, on="logits"):
    def value(s, i):
        margins = []
        for row in signals.logits[s, :, i]:
            z = probabilities(row) if on == "probabilities" else [float(v) for v in row]
            own = int(signals.labels[i])
            margins.append(z[own] - max(z[k] for k in range(len(z)) if k != own))
        return -mean(margins)

    return each(signals, value)


def difficulty(signals):
    losses = signals.losses
    return [
        mean(math.fsum(float(v) for v in losses[s, :, i]) for s in range(losses.shape[0])) for i in range(len(signals))
    ]


def memorization(signals):
    member, correct = signals.array("ensemble_member"), signals.array("ensemble_correct")
    out = []
    for i in range(len(signals)):
        inside = [int(correct[m, i]) for m in range(member.shape[0]) if member[m, i]]
        outside = [int(correct[m, i]) for m in range(member.shape[0]) if not member[m, i]]
        out.append(mean(inside) - mean(outside))
    return out


def dichotomous(signals):
    member, correct = signals.array("ensemble_member"), signals.array("ensemble_correct")
    return [
        mean([1 - int(correct[m, i]) for m in range(member.shape[0]) if not member[m, i]]) for i in range(len(signals))
    ]


def ensemble_influence(signals):
    """The largest influence on another example of its class, pair by pair and model by model."""
    member, correct = signals.array("ensemble_member"), signals.array("ensemble_correct")
    labels, models, out = signals.labels, range(member.shape[0]), []
    for i in range(len(signals)):
        found = []
        for j in range(len(signals)):
            if j == i or labels[j] != labels[i]:
                continue
            with_it = [int(correct[m, j]) for m in models if member[m, i] and not member[m, j]]
            without = [int(correct[m, j]) for m in models if not member[m, i] and not member[m, j]]
            if with_it and without:
                found.append(mean(with_it) - mean(without))
        out.append(max(found, default=0.0))
    return out


def disagreement(signals):
    """Entropy of the mean prediction less the mean entropy, over all seeds and the second half of the epochs."""

    def spread(chances):
        return -math.fsum(p * math.log(p) for p in chances if p > 0)

    seeds, epochs, n, classes = signals.logits.shape
    out = []
    for i in range(n):
        members = []
        for s in range(seeds):
            for e in range(epochs // 2, epochs):
                weights = [math.exp(float(v) - float(max(signals.logits[s, e, i]))) for v in signals.logits[s, e, i]]
                members.append([w / math.fsum(weights) for w in weights])
        average = [mean([one[k] for one in members]) for k in range(classes)]
        out.append(spread(average) - mean([spread(one) for one in members]))
    return out


def cosine(a, b):
    dot = math.fsum(float(x) * float(y) for x, y in zip(a, b, strict=True))
    return dot / math.sqrt(math.fsum(float(x) ** 2 for x in a)) / math.sqrt(math.fsum(float(y) ** 2 for y in b))


def lloyd(unit, start):
    """Spherical k-means from given centroids until no example moves."""
    centres, before = [list(row) for row in start], None
    while True:
        nearest = [max(range(len(centres)), key=lambda k, row=row: cosine(row, centres[k])) for row in unit]
        if nearest == before:
            return centres
        before = nearest
        for k in range(len(centres)):
            members = [row for row, which in zip(unit, nearest, strict=True) if which == k]
            if members:
                centres[k] = [mean(row[j] for row in members) for j in range(len(members[0]))]


def tightest_lloyd(unit, k, seed, ids):
    """The best of several starts. Shares only the seeded choice of starting rows with the fast one."""
    tries = [lloyd(unit.tolist(), unit[starting_rows(unit, k, ids, seed, start)].tolist()) for start in range(STARTS)]
    return max(tries, key=lambda centres: math.fsum(max(cosine(row, c) for c in centres) for row in unit))


def prototype(signals):
    """Signals must be in order of their ids."""
    centres = tightest_lloyd(unit_rows(signals.embeddings), len(signals.classes), 0, signals.ids)
    return [1 - max(cosine(row, centre) for centre in centres) for row in signals.embeddings]


def class_prototype(signals):
    out = []
    for i in range(len(signals)):
        same = [j for j in range(len(signals)) if signals.labels[j] == signals.labels[i]]
        centre = [mean(float(signals.embeddings[j, d]) for j in same) for d in range(signals.embeddings.shape[1])]
        out.append(1 - cosine(signals.embeddings[i], centre))
    return out


def of_class(signals, i):
    """The others of an example's class."""
    return [j for j in range(len(signals)) if j != i and signals.labels[j] == signals.labels[i]]


def dot(a, b):
    return math.fsum(float(x) * float(y) for x, y in zip(a, b, strict=True))


def interchangeability(signals, threshold=0.75):
    def partners(phi, i):
        return sum(
            dot(phi[i], phi[j]) / dot(phi[i], phi[i]) >= threshold
            and dot(phi[i], phi[j]) / dot(phi[j], phi[j]) >= threshold
            for j in of_class(signals, i)
        )

    return [-mean(partners(phi, i) for phi in signals.array("lpntk")) for i in range(len(signals))]


def contradiction(signals, share=0.2):
    def score(phi, i):
        others = of_class(signals, i)
        if not others:
            return 0.0
        nearest = sorted((cosine(phi[i], phi[j]) for j in others), reverse=True)[: max(1, round(share * len(others)))]
        return (1 - mean(nearest)) / 2

    return [mean(score(phi, i) for phi in signals.array("lpntk")) for i in range(len(signals))]


def margin(signals):
    def value(s, i):
        p = sorted(probabilities(signals.logits[s, -1, i]))
        return 1 - (p[-1] - p[-2])

    return each(signals, value)


def entropy(signals):
    return each(
        signals, lambda s, i: -math.fsum(p * math.log(p) for p in probabilities(signals.logits[s, -1, i]) if p > 0)
    )


def uncertainty(signals):
    """Entropy of the predictions averaged over the last half of the epochs, the middle one included."""
    count = len(signals.epochs)
    late = range(count - math.ceil(count / 2), count)

    def value(s, i):
        rows = [probabilities(signals.logits[s, e, i]) for e in late]
        mean = [math.fsum(column) / len(rows) for column in zip(*rows, strict=True)]
        return -math.fsum(p * math.log(p) for p in mean if p > 0)

    return each(signals, value)


def confidence(signals):
    return each(signals, lambda s, i: 1 - max(probabilities(signals.logits[s, -1, i])))


def windows(signals, s, i, window, epochs):
    if window is None:  # half of the epochs used
        used = sum(1 for number in signals.epochs if epochs is None or number <= epochs)
        window = 2 if used < 4 else 10 if used > 20 else used // 2
    chances = [true_class(signals, s, e, i) for e in range(len(signals.epochs)) if signals.epochs[e] <= epochs]
    return [chances[start : start + window] for start in range(len(chances) - window + 1)]


def dual(signals, window=None, epochs=30):
    return each(
        signals,
        lambda s, i: mean(deviation(seen) * (1 - mean(seen)) for seen in windows(signals, s, i, window, epochs)),
    )


def dynamic_uncertainty(signals, window=None, epochs=30):
    return each(signals, lambda s, i: mean(deviation(seen) for seen in windows(signals, s, i, window, epochs)))


def tdds(signals, window=10, decay=0.9, difference="kl"):
    def value(s, i):
        steps = []
        for e in range(len(signals.epochs) - 1):
            p, q = probabilities(signals.logits[s, e, i]), probabilities(signals.logits[s, e + 1, i])
            if difference == "kl":
                steps.append(math.fsum(q[k] * math.log(q[k] / p[k]) for k in range(len(p))))
            else:
                own = int(signals.labels[i])
                steps.append(math.log(p[own]) - math.log(q[own]))
        spread = [variance(steps[start : start + window - 1]) for start in range(len(steps) - window + 2)]
        smooth = spread[0]
        for newest in spread[1:]:
            smooth = decay * newest + (1 - decay) * smooth
        return smooth

    return each(signals, value)


def random(signals):
    return [uniform(0, ["random score"], name) for name in signals.ids.tolist()]


def influence_norm(signals, damping=0.01):
    """From the definition, with a head that another optimiser has trained."""
    features = influence.standardised(signals.embeddings)
    theta = influence.softmax_head(features, signals.labels, damping, len(signals.classes))
    outputs = influence.softmax_outputs(features, theta)
    rows = influence.influence_rows(features, outputs, signals.labels, damping, theta)
    return [math.sqrt(math.fsum(v * v for v in row)) for row in rows]


def loss_influence(signals, damping=0.01, folds=5):
    """A head for each fold, trained without it; the folds dealt out class by class."""
    features, labels = influence.standardised(signals.embeddings), signals.labels
    dealt = sorted(range(len(labels)), key=lambda i: (labels[i], i))
    fold = {i: place % folds for place, i in enumerate(dealt)}
    values = [[] for _ in labels]
    for held in range(folds):
        inside = [i for i in range(len(labels)) if fold[i] != held]
        outside = [i for i in range(len(labels)) if fold[i] == held]
        theta = influence.softmax_head(features[inside], labels[inside], damping, len(signals.classes))
        outputs = influence.softmax_outputs(features, theta)
        errors = outputs - [[float(k == y) for k in range(outputs.shape[1])] for y in labels]
        slope = sum(np.outer(features[i], errors[i]).ravel() for i in outside) / len(outside)
        rows = influence.influence_rows(features[inside], outputs[inside], labels[inside], damping, theta)
        for i, row in zip(inside, rows, strict=True):
            values[i].append(float(slope @ row) * len(inside) / (len(inside) - 1))
    return [abs(mean(each)) for each in values]


def in_deviations(values):
    spread = deviation(values)
    return [value / spread if spread > 0 else 0.0 for value in values]


def mislabelled(signals):
    """From the joined class probabilities and the share out of fold, which have twins in `oracles.mislabelled`."""
    said = class_opinions(signals)
    classes, labels = said.classes, [int(one) for one in signals.labels]

    def ahead(chances):
        found = []
        for i in range(len(signals)):
            best = max(float(chances[i][k]) for k in range(len(chances[i])) if k != labels[i])
            odds = math.log(max(best, 1e-6)) - math.log(max(float(chances[i][labels[i]]), 1e-6))
            found.append(min(6.0, max(-6.0, odds)))
        return in_deviations(found)

    hardness = [min(3.0, max(-3.0, value)) for value in in_deviations(aum(signals))]
    blind = "oof" in signals
    alone = [0.0] * len(labels) if said.rows is None else ahead(said.rows)
    weights, part, level = WEIGHTS["oof" if blind else "training"], 0.0, 1.0
    if said.rows is not None:
        largest = max(labels.count(one) for one in labels) / len(labels)
        better = [
            mean([float(int(np.argmax(row)) == one) for row, one in zip(chances, labels, strict=True)]) - largest
            for chances in (said.rows, classes, signals.array("oof").mean(axis=0))
        ]
        part = min(1.0, max(0.0, better[0]) / max(better[1], 1e-9)) ** POWER
        level = min(1.0, max(0.0, better[2]) / max(better[0], 1e-9)) ** POWER
        rows = [level * a + (1 - level) * b for a, b in zip(WEIGHTS["embeddings"], WEIGHTS["encoder"], strict=True)]
        weights = [part * a + (1 - part) * b for a, b in zip(rows, weights, strict=True)]
    *weights, slope = weights
    parts = zip(ahead(classes), alone, in_deviations(hardness), strict=True)
    evidence = [sum(weight * one for weight, one in zip(weights, each, strict=True)) for each in parts]
    first, *weights = TRAINED
    odds = first + sum(w * v for w, v in zip(weights, labels_twin.numbers(classes, labels), strict=True))
    share = min(0.9, max(LEAST[blind], 1.02 / (1 + math.exp(-odds)) - 0.01))
    if blind:
        share = wrong_share(classes, signals.labels, True)
        if said.rows is not None:
            share += part * (1 - level) * max(0.0, wrong_share(said.rows, signals.labels, True) - share)
        own = evidence_slope(np.array(evidence), classes, signals.labels)
        evidence = [own * one for one in evidence]

    def at(c):
        return [1 / (1 + math.exp(-(slope * value + c))) for value in evidence]

    low, high = -60.0, 60.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if mean(at(middle)) < share else (low, middle)
    return at((low + high) / 2)


def token_loss(signals):
    return [float(value) for value in signals.array("token_losses")]


def instruction_difficulty(signals):
    given, alone = signals.array("token_losses"), signals.array("token_losses_alone")
    return [float(given[i]) / float(alone[i]) if alone[i] > 0 else 1.0 for i in range(len(signals))]


TWINS = {
    twin.__name__: twin
    for twin in (
        el2n,
        grand,
        forgetting,
        aum,
        difficulty,
        dichotomous,
        disagreement,
        ensemble_influence,
        memorization,
        prototype,
        class_prototype,
        interchangeability,
        contradiction,
        influence_norm,
        loss_influence,
        mislabelled,
        margin,
        entropy,
        confidence,
        dual,
        dynamic_uncertainty,
        tdds,
        uncertainty,
        random,
        token_loss,
        instruction_difficulty,
    )
}
