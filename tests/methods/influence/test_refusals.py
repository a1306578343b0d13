"""Bad input to the influence room: what is called, and a fragment of the one sentence it gets."""

from __future__ import annotations

import numpy as np
import pytest

import winnow as wn
from winnow.core.errors import WinnowError
from winnow.methods.influence import Lissa, certify, fit_head, loss_influence, prune_by_bound, prune_by_count, vectors

X = np.random.default_rng(0).normal(size=(8, 2))
Y = np.arange(8) % 2
P = np.full((8, 2), 0.5)
V = vectors(X, P, Y, 0.1)
NAN = np.full((8, 2), np.nan)
ONE_NAN = np.ones((3_000_000, 2), dtype=np.float32)  # more than is looked through at once
ONE_NAN[-1] = np.nan

REFUSALS = [
    ("no damping", lambda: vectors(X, P, Y, 0), "singular without it"),
    ("negative damping", lambda: vectors(X, P, Y, -1), "damping of influence.vectors"),
    ("no damping for a fit", lambda: fit_head(X, Y, 0.0), "damping of influence.fit_head must be above 0"),
    ("damping below rounding", lambda: vectors(X, P, Y, 1e-17), "must be larger"),
    ("singular least squares", lambda: vectors(X[:, [0, 0]], P, P, 0.0, loss="squared"), "must be larger"),
    ("labels beyond the classes", lambda: vectors(X, P, Y + 1, 0.1), "class numbers from 0 to 1"),
    ("labels that are not whole", lambda: vectors(X, P, Y / 2, 0.1), "class numbers"),
    ("outputs that are no probabilities", lambda: vectors(X, 3 * P, Y, 0.1), "must be probabilities"),
    ("one class", lambda: vectors(X, P[:, :1] * 2, Y * 0, 0.1), "at least two classes"),
    ("NaN features", lambda: vectors(NAN, P, Y, 0.1), "must be finite"),
    ("rows that do not match", lambda: vectors(X, P[:5], Y, 0.1), "must have 8 rows"),
    ("one example", lambda: vectors(X[:1], P[:1], Y[:1], 0.1), "at least two rows"),
    ("targets of another shape", lambda: vectors(X, P, X[:, 0], 0.1, loss="squared"), "the same shape"),
    ("unknown loss", lambda: vectors(X, P, Y, 0.1, loss="hinge"), "unknown loss"),
    ("unknown solver", lambda: vectors(X, P, Y, 0.1, solver="choleski"), "unknown solver"),
    ("unknown convention", lambda: vectors(X, P, Y, 0.1, convention="n"), "unknown convention"),
    ("unknown dtype", lambda: vectors(X, P, Y, 0.1, dtype="float16"), "unknown dtype"),
    ("out of another shape", lambda: vectors(X, P, Y, 0.1, out=np.zeros((8, 2))), "of shape (8, 4)"),
    ("remove all", lambda: prune_by_count(V, 8), "from 1 to 7; got 8"),
    ("remove none", lambda: prune_by_count(V, 0), "from 1 to 7; got 0"),
    ("remove a fraction", lambda: prune_by_count(V, 0.5), "whole number"),
    ("NaN vectors", lambda: prune_by_count(NAN, 3), "must be finite"),
    ("a vector of vectors", lambda: prune_by_count(X[:, 0], 3), "2 dimension(s)"),
    ("more than a group has", lambda: prune_by_count(V, [5, 1], groups=Y), "size of each group"),
    ("all of every group", lambda: prune_by_count(V, [4, 4], groups=Y), "must leave one and remove one"),
    ("groups of another length", lambda: prune_by_count(V, 3, groups=Y[:5]), "one per example"),
    ("negative moves", lambda: prune_by_count(V, 3, moves=-1), "moves of influence.prune_by_count"),
    ("negative seed", lambda: prune_by_count(V, 3, -1), "seed of influence.prune_by_count"),
    (
        "epsilon of zero",
        lambda: prune_by_bound(V, 0, 5),
        "epsilon of influence.prune_by_bound must be a number above 0",
    ),
    ("negative epsilon", lambda: prune_by_bound(V, -1.0, 5), "above 0; got -1"),
    ("infinite epsilon", lambda: prune_by_bound(V, np.inf, 5), "above 0; got inf"),
    ("a cap of everything", lambda: prune_by_bound(V, 1.0, 8), "max_remove of influence.prune_by_bound"),
    ("curvature of one", lambda: prune_by_bound(V, 1.0, 5, least_curvature=1.0), "least_curvature"),
    ("a position twice", lambda: certify(V, [1, 1]), "different positions"),
    ("a position below", lambda: certify(V, [-1, 3]), "different positions from 0 to 7; got 2 from -1 to 3"),
    ("one of several beyond", lambda: certify(V, [3, 8]), "different positions from 0 to 7; got 2 from 3 to 8"),
    ("positions that are no numbers", lambda: certify(V, [0.5]), "different positions"),
    ("one row", lambda: certify(X[:1], [0]), "two rows"),
    ("no column", lambda: certify(X[:, :0], [0]), "and a column"),
    ("one NaN of many rows", lambda: certify(ONE_NAN, [0]), "must be finite"),
    ("a position beyond", lambda: certify(V, [8]), "different positions from 0 to 7"),
    ("all positions", lambda: certify(V, np.arange(8)), "must leave at least one example"),
    ("a fit that starts elsewhere", lambda: fit_head(X, Y, 0.1, start=np.zeros((3, 2))), "must have shape (2, 2)"),
    ("fewer classes than labels", lambda: fit_head(X, Y, 0.1, classes=1), "classes of influence.fit_head"),
    ("an array without its head", lambda: loss_influence(X, X, P, Y), "must come from influence.vectors"),
    ("other features", lambda: loss_influence(V, X[:, :1], P, Y), "the 2 and 2 columns"),
    ("no depth", lambda: Lissa(depth=0), "depth of Lissa"),
]


@pytest.mark.parametrize(("call", "says"), [case[1:] for case in REFUSALS], ids=[case[0] for case in REFUSALS])
def test_is_refused_in_one_sentence(call, says):
    with pytest.raises(WinnowError) as caught:
        call()
    line = str(caught.value)
    assert says in line
    assert "\n" not in line
    assert line.endswith(".")


def test_the_selector_does_not_hide_the_room():
    import winnow.selectors

    assert callable(winnow.selectors.influence)
    assert wn.influence.vectors is vectors
    assert not callable(wn.influence)
