"""Slow, obvious twins of the selectors and of the quotas: plain loops over examples, written from the definitions.

Each takes scores, points and labels in order of the ids, which are the positions, and returns positions. Where a method
draws, the twin draws by the slow twin of the random numbers keyed by id.
"""

from __future__ import annotations

import math

from tests.oracles.draws import uniform
from tests.oracles.lpntk import algorithm_3, cosine, redundant_by_cover


def distance(a, b):
    return math.sqrt(math.fsum((float(x) - float(y)) ** 2 for x, y in zip(a, b, strict=True)))


def centre(points):
    return [math.fsum(float(row[d]) for row in points) / len(points) for d in range(len(points[0]))]


def shares(capacity, total):
    """One at a time to whoever has least and still has room; extras to the larger groups."""
    parts = [0] * len(capacity)
    for _ in range(total):
        open_groups = [g for g in range(len(capacity)) if parts[g] < capacity[g]]
        parts[min(open_groups, key=lambda g: (parts[g], -capacity[g], -g))] += 1
    return parts


def floors(counts, size, balance):
    """The guarantee of every class, one example at a time."""
    each = 0
    while each < balance * size / len(counts) - 1e-9:
        each += 1
    return shares(counts, min(size, each * len(counts), sum(counts)))


def class_balance(counts):
    ratios = [min(a, b) / max(a, b) if max(a, b) else 0.0 for i, a in enumerate(counts) for b in counts[i + 1 :]]
    return math.fsum(ratios) / len(ratios)


def strata(scores, size, drop, bins=50, seed=0):
    hardest_first = sorted(range(len(scores)), key=lambda i: (-scores[i], uniform(seed, ["strata", "ties"], i)))
    left = sorted(hardest_first[min(round(drop * len(scores)), len(scores) - size) :])
    low, high = min(scores[i] for i in left), max(scores[i] for i in left)
    members = [[] for _ in range(bins)]
    for i in left:
        members[min(int((scores[i] - low) / (high - low) * bins), bins - 1)].append(i)
    parts = shares([len(group) for group in members], size)
    picked = []
    for group, part in zip(members, parts, strict=True):
        picked += sorted(group, key=lambda i: uniform(seed, ["strata"], i))[:part]
    return picked


def graph(scores, points, size, k=5, gamma=0.1):
    n = len(scores)
    near = [
        sorted((j for j in range(n) if j != i), key=lambda j, i=i: distance(points[i], points[j]))[:k] for i in range(n)
    ]
    weight = [[math.exp(-gamma * distance(points[i], points[j]) ** 2) for j in near[i]] for i in range(n)]
    low = min(min(scores), 0.0)
    start = [value - low for value in scores]
    values = [start[i] + math.fsum(w * start[j] for j, w in zip(near[i], weight[i], strict=True)) for i in range(n)]
    picked = []
    for _ in range(size):
        best = max((i for i in range(n) if i not in picked), key=lambda i: values[i])
        picked.append(best)
        for j, w in zip(near[best], weight[best], strict=True):
            values[j] -= w * max(values[best], 0.0)
    return picked


def kcenter(points, size):
    middle = centre(points)
    picked = [min(range(len(points)), key=lambda i: distance(points[i], middle))]
    while len(picked) < size:
        picked.append(
            max(
                (i for i in range(len(points)) if i not in picked),
                key=lambda i: min(distance(points[i], points[j]) for j in picked),
            )
        )
    return picked


def facility_location(points, size, k):
    """Greedy over the graph of neighbours, every gain computed anew for every pick."""
    n = len(points)
    far = [[distance(points[i], points[j]) for j in range(n)] for i in range(n)]
    near = [sorted((j for j in range(n) if j != i), key=lambda j, i=i: far[i][j])[:k] for i in range(n)]
    reach = math.fsum(far[i][near[i][-1]] for i in range(n)) / n

    def served(i, picked):
        return max([0.0] + [1.0 if j == i else 1.0 - far[i][j] / reach for j in picked if j == i or j in near[i]])

    picked = []
    for _ in range(size):
        totals = {j: math.fsum(served(i, [*picked, j]) for i in range(n)) for j in range(n) if j not in picked}
        picked.append(max(totals, key=totals.get))
    return picked


def herding(points, size):
    middle, picked = centre(points), []
    while len(picked) < size:
        picked.append(
            min(
                (i for i in range(len(points)) if i not in picked),
                key=lambda i: distance(centre([points[j] for j in [*picked, i]]), middle),
            )
        )
    return picked


def class_centre(points, labels, size):
    far = []
    for point, label in zip(points, labels, strict=True):
        own = [other for other, name in zip(points, labels, strict=True) if name == label]
        far.append(distance(point, centre(own)))
    return sorted(range(len(points)), key=lambda i: (round(far[i] / max(far), 12), i))[:size]


def moderate(points, labels, size):
    offset, farthest = [0.0] * len(points), 0.0
    for label in set(labels):
        members = [i for i in range(len(points)) if labels[i] == label]
        middle = centre([points[i] for i in members])
        far = {i: distance(points[i], middle) for i in members}
        ordered = sorted(far.values())
        farthest = max(farthest, ordered[-1])
        half = len(ordered) // 2
        median = ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
        for i in members:
            offset[i] = abs(far[i] - median)
    return sorted(range(len(points)), key=lambda i: (round(offset[i] / farthest, 12), i))[:size]


def beta_weights(scores, predictions, keep):
    """Weights of the sampling, not normalised; `predictions` are mean probabilities of the true class."""
    mu = predictions[max(range(len(scores)), key=lambda i: scores[i])]
    b = 15 * (1 - mu) * (1 - (1 - keep) ** 4)
    a = 16 - b
    return [
        s * p ** (a - 1) * (1 - p) ** (b - 1) * math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b))
        for s, p in zip(scores, predictions, strict=True)
    ]


def part(gram, members):
    return [[gram[i][j] for j in members] for i in members]


def each_class(labels):
    return [[i for i in range(len(labels)) if labels[i] == c] for c in sorted(set(labels))]


def covered(gram, labels, least):
    """Kept positions, and the cosine to its witness of each removed one."""
    kept, far = [], {}
    for members in each_class(labels):
        for i, witness in zip(members, redundant_by_cover(part(gram, members), least), strict=True):
            if witness < 0:
                kept.append(i)
            else:
                far[i] = cosine(gram, i, members[witness])
    return sorted(kept), far


def lpntk_redundancy(gram, labels, size, least):
    """At a given cosine that leaves no more than the size; the least covered come back."""
    kept, far = covered(gram, labels, least)
    return sorted(kept + sorted(far, key=lambda i: (far[i], i))[: size - len(kept)])


def lpntk_paper(gram, size):
    n = len(gram)
    ratio = [max(gram[i][j] for j in range(n) if j != i) / gram[i][i] for i in range(n)]
    return sorted(sorted(range(n), key=lambda i: (ratio[i], i))[:size])


def cluster_places(gram, labels, share, kind):
    """For each example the place of its cluster in its class by size, and whether it is a centre."""
    place, centre = {}, {}
    for members in each_class(labels):
        centres, lists = algorithm_3(part(gram, members), max(1, round(share * len(members))), kind)
        by_size = sorted(range(len(centres)), key=lambda c, lists=lists: (-len(lists[c]), c))
        for c in range(len(centres)):
            for i in [centres[c], *lists[c]]:
                place[members[i]] = by_size.index(c)
                centre[members[i]] = i == centres[c]
    return place, centre


def lpntk_head(gram, labels, size, least, share, kind, seed):
    kept, _ = covered(gram, labels, least)
    if len(kept) <= size:
        return lpntk_redundancy(gram, labels, size, least)
    place, centre = cluster_places(part(gram, kept), [labels[i] for i in kept], share, kind)
    lot = [uniform(seed, ["lpntk_head"], i) for i in kept]
    going = sorted(range(len(kept)), key=lambda i: (centre[i], place[i], lot[i]))[: len(kept) - size]
    return [kept[i] for i in range(len(kept)) if i not in going]


def lpntk_head_only(gram, labels, size, share, kind, seed):
    place, _ = cluster_places(gram, labels, share, kind)
    lot = [uniform(seed, ["lpntk_head_only"], i) for i in range(len(gram))]
    return sorted(sorted(range(len(gram)), key=lambda i: (place[i], lot[i]))[:size])
