"""Slow, obvious twins of what works on a kernel: plain loops over a list of lists, written from the definitions."""

from __future__ import annotations

import math


def cosine(gram, i, j):
    return gram[i][j] / (math.sqrt(gram[i][i]) * math.sqrt(gram[j][j]))


def algorithm_3(gram, m, kind="raw"):
    """Algorithm 3 of the paper line by line: centres, and the lists of the examples around each, centres left out.

    On the cosine kernel all self-kernels are 1; the tie goes to the largest raw one.
    """
    n = len(gram)

    def kappa(i, j):
        return gram[i][j] if kind == "raw" else cosine(gram, i, j)

    found = 1
    centres = [max(range(n), key=lambda i: (gram[i][i], -i))]
    lists = [[i for i in range(n) if i != centres[0]]]
    while found < m:
        least, new = math.inf, -1
        for j in range(found):
            if lists[j] and min(kappa(centres[j], other) for other in lists[j]) < least:
                least = min(kappa(centres[j], other) for other in lists[j])
                new = min(other for other in lists[j] if kappa(centres[j], other) == least)
        found += 1
        centres.append(new)
        lists.append([])
        for j in range(found - 1):
            for i in list(lists[j]):
                if i == new:
                    lists[j].remove(i)
                elif kappa(new, i) > kappa(centres[j], i):
                    lists[j].remove(i)
                    lists[-1].append(i)
    return centres, lists


def redundant_by_paper(gram):
    n = len(gram)
    return [any(x != i and gram[i][x] > gram[i][i] for x in range(n)) for i in range(n)]


def redundant_by_cover(gram, least, projection=False):
    """The witness of each removed example, -1 for the kept ones."""
    n = len(gram)
    witness, kept = [-1] * n, []
    for i in sorted(range(n), key=lambda i: (-gram[i][i], i)):
        able = [x for x in kept if cosine(gram, i, x) >= least]
        if projection:
            able = [x for x in able if gram[i][x] / gram[i][i] >= 1.0]
        if able:
            witness[i] = max(able, key=lambda x: cosine(gram, i, x))
        else:
            kept.append(i)
    return witness


def relation(gram, i, j, threshold, unrelated):
    one, other = gram[i][j] / gram[i][i], gram[i][j] / gram[j][j]
    if one >= threshold and other >= threshold:
        return "interchangeable"
    if abs(one) <= unrelated and abs(other) <= unrelated:
        return "unrelated"
    if one <= -threshold and other <= -threshold:
        return "contradictory"
    return None


def contradiction(gram, labels, share):
    """The score of each example, and the class suggested for it."""
    n = len(gram)
    scores, suggested = [], []
    for i in range(n):
        near = {}
        for c in sorted(set(labels)):
            values = [cosine(gram, i, j) for j in range(n) if j != i and labels[j] == c]
            if c != labels[i]:
                values = [abs(value) for value in values]
            top = sorted(values, reverse=True)[: max(1, round(share * len(values)))]
            near[c] = math.fsum(top) / len(top) if top else 1.0
        scores.append((1.0 - near.pop(labels[i])) / 2.0)
        suggested.append(max(near, key=near.get))
    return scores, suggested
