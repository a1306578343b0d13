"""Folds of examples that belong together or have a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import winnow as wn
from winnow.core.errors import InputError
from winnow.signals.folds import fold_numbers, joined_groups


def slow_union(a: list[int], b: list[int]) -> list[set[int]]:
    sets = [{k} for k in range(len(a))]
    for i in range(len(a)):
        for j in range(i):
            if a[i] == a[j] or b[i] == b[j]:
                one, two = (next(s for s in sets if k in s) for k in (i, j))
                if one is not two:
                    sets.remove(two)
                    one |= two
    return sets


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=15))
def test_groupings_are_joined_by_chains(pairs: list[tuple[int, int]]) -> None:
    a, b = [p[0] for p in pairs], [p[1] for p in pairs]
    found = joined_groups(a, [f"g{k}" for k in b])
    assert found is not None
    made = [set(np.flatnonzero(found == value).tolist()) for value in np.unique(found)]
    assert sorted(map(sorted, made)) == sorted(map(sorted, slow_union(a, b)))


@settings(max_examples=50, deadline=None)
@given(n=st.integers(8, 60), groups=st.integers(3, 60), folds=st.integers(2, 3), seed=st.integers(0, 3))
def test_blocks_of_time_are_whole_contiguous_and_free_of_order(n: int, groups: int, folds: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    ids, times = rng.permutation(1000)[:n], rng.integers(0, 40, n)
    alone = fold_numbers(ids, folds, seed, times=times)
    assert np.bincount(alone, minlength=folds).min() >= n // folds - 1
    assert all(times[alone == k].max() <= times[alone == k + 1].min() for k in range(folds - 1))
    order = rng.permutation(n)
    assert (fold_numbers(ids[order], folds, seed + 1, times=times[order]) == alone[order]).all()
    together = rng.integers(0, groups, n)
    if np.unique(together).size >= folds:
        found = fold_numbers(ids, folds, seed, groups=together, times=times)
        assert np.unique(found).size == folds
        assert all(np.unique(found[together == g]).size == 1 for g in np.unique(together))


def test_the_folds_of_a_source_keep_its_groups_and_near_duplicates_together() -> None:
    from winnow.engines import engine_of
    from winnow.signals import fold_trainings

    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(10), 4)
    source = wn.open((rng.normal(size=(40, 2)), np.tile([0, 1], 20)), group=group)
    near = np.arange(40)
    near[[0, 39]] = 99  # the first and the last group have near-duplicates
    jobs: list[np.ndarray] = []

    def watched(_run: object, _engine: object, _work: object, made: list, *_: object, **__: object) -> list:
        jobs.extend(job.item[-1] for job in made)
        raise InterruptedError

    from unittest import mock

    from winnow.signals.observe import observe

    with mock.patch.object(fold_trainings, "run_jobs", watched), pytest.raises(InterruptedError):
        observe(source, "linear", wn.Recipe(epochs=1), want="oof", folds=4, groups=near, engine=engine_of("t", None))
    in_order = group[source.order]
    for member in jobs:
        left_out = set(in_order[member == 0].tolist())
        assert not left_out & set(in_order[member == 1].tolist())
        assert (0 in left_out) == (9 in left_out)
    with pytest.raises(InputError, match="at most the number of groups of examples, 9; got 10"):
        observe(source, "linear", wn.Recipe(epochs=1), want="oof", folds=10, groups=near)
