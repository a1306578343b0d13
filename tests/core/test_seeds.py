"""Draws keyed by id: equal to their slow twin, independent of everything but seed, stream and id, and random."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.oracles.draws import uniform

from winnow.core.errors import InputError
from winnow.core.seeds import drawn_first, uniforms

NUMBERS = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20, unique=True)
TEXTS = st.lists(
    st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=9),
    min_size=1,
    max_size=20,
    unique=True,
)
NAMES = st.lists(st.one_of(st.text(max_size=5), st.integers()), min_size=1, max_size=3).map(tuple)
MANY = 30_000


@given(st.integers(0, 2**70), NAMES, st.one_of(NUMBERS, TEXTS))
def test_twin(seed, names, ids):
    assert uniforms(seed, names, ids).tolist() == [uniform(seed, names, name) for name in ids]


def test_pinned_so_that_no_platform_or_version_changes_a_subset():
    assert uniforms(0, "random selection", [0, 1, -1, 2**40]).tolist() == [
        0.6964858683094587,
        0.03517833229053979,
        0.26444686548556773,
        0.03638968740064674,
    ]
    assert uniforms(3, ("k-means", 10), ["a", "ab", "train/cat 7.png", "é", "😀"]).tolist() == [
        0.4327085647729628,
        0.2692717630900864,
        0.13777544740011105,
        0.5071028807248813,
        0.6919551845599222,
    ]


@given(st.one_of(NUMBERS, TEXTS), st.data())
def test_other_ids_and_the_order_change_nothing(ids, data):
    alone = dict(zip(ids, uniforms(1, "a", ids).tolist(), strict=True))
    some = data.draw(st.permutations(ids))[: data.draw(st.integers(1, len(ids)))]
    assert uniforms(1, "a", some).tolist() == [alone[name] for name in some]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint32, np.int64, np.uint64, ">i4", ">i8"])
def test_the_width_of_whole_numbers_plays_no_part(dtype):
    ids = np.arange(100)
    assert np.array_equal(uniforms(0, "a", ids.astype(dtype)), uniforms(0, "a", ids))


def test_negative_numbers_of_any_width_are_the_same():
    assert uniforms(0, "a", np.array([-3], dtype=np.int8)) == uniforms(0, "a", np.array([-3], dtype=np.int64))


@pytest.mark.parametrize("dtype", ["U3", "U40", ">U7"])
def test_the_width_of_text_plays_no_part(dtype):
    assert np.array_equal(uniforms(0, "a", np.array(["x", "xyz"], dtype=dtype)), uniforms(0, "a", ["x", "xyz"]))


def test_a_part_of_a_longer_array_is_the_same():
    ids = np.arange(50_000)
    every = uniforms(0, "a", ids)
    assert np.array_equal(uniforms(0, "a", ids[::7]), every[::7])
    assert np.array_equal(uniforms(0, "a", ids[::-1])[::-1], every)


def test_no_ids_no_numbers():
    assert uniforms(0, "a", np.zeros(0, dtype=np.int64)).size == uniforms(0, "a", np.zeros(0, dtype="U4")).size == 0


def test_ids_are_not_changed():
    ids = np.arange(5, dtype=np.uint64)
    uniforms(0, "a", ids)
    assert ids.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("ids", [[0.5], [True], [b"a"], [None]])
def test_other_ids_are_refused(ids):
    with pytest.raises(InputError, match="ids must be whole numbers or text; got an array of"):
        uniforms(0, "a", ids)


@pytest.mark.parametrize("seed", [-1, 0.5])
def test_other_seeds_are_refused(seed):
    with pytest.raises(InputError, match="seed of winnow"):
        uniforms(seed, "a", [1])


def kinds():
    """Ids as sources have them: neighbours, far apart, negative, in the high bits only, text of one or many lengths."""
    count = np.arange(MANY)
    return {
        "neighbours": count,
        "thousands": count * 1000,
        "high bits": count << 40,
        "negative": -count,
        "text": count.astype(str),
        "padded": np.char.zfill(count.astype(str), 12),
        "paths": np.char.add(np.char.add("train/", (count % 10).astype(str)), np.char.add("/", count.astype(str))),
    }


KINDS = pytest.mark.parametrize("ids", [pytest.param(ids, id=kind) for kind, ids in kinds().items()])


@KINDS
def test_uniform_and_without_serial_dependence(ids):
    u = uniforms(5, "test", ids)
    assert (u > 0).all()
    assert (u < 1).all()
    assert np.unique(u).size == u.size
    assert stats.kstest(u, "uniform").pvalue > 1e-4
    for lag in (1, 2, 10, 256):  # pairs of ids at this distance fill the unit square evenly
        table = np.bincount((u[:-lag] * 20).astype(int) * 20 + (u[lag:] * 20).astype(int), minlength=400)
        assert stats.chisquare(table).pvalue > 1e-4
    for bit in range(1, 20):  # low bits too: what remains after scaling is uniform
        assert abs(np.mean(u * 2**bit % 1 < 0.5) - 0.5) < 5 * 0.5 / np.sqrt(u.size)


@KINDS
def test_streams_and_seeds_are_independent(ids):
    draws = [uniforms(seed, name, ids) for seed in (0, 1) for name in ("a", "b", ("a", 1))]
    for first, second in itertools.combinations(draws, 2):
        assert abs(np.corrcoef(first, second)[0, 1]) < 5 / np.sqrt(MANY)
        table = np.bincount((first * 10).astype(int) * 10 + (second * 10).astype(int), minlength=100)
        assert stats.chisquare(table).pvalue > 1e-6
        assert np.intersect1d(first, second).size == 0  # not one a shifted copy of the other


def test_names_are_kept_apart():
    ways = [("ab",), ("a", "b"), ("a", 1), ("a", "1"), ("a1",), (1,), ("1",), (1, "a")]
    assert len({uniforms(0, names, [0])[0] for names in ways}) == len(ways)
    assert uniforms(1, "1", [0]) != uniforms(11, "", [0])


def test_a_single_name_is_a_tuple_of_one():
    assert uniforms(0, "a", [4]) == uniforms(0, ("a",), [4])


def test_a_draw_is_the_smallest_numbers():
    ids = np.array([4, 9, 2, 7])
    u = uniforms(0, "a", ids)
    assert drawn_first(0, "a", ids, 2).tolist() == sorted(range(4), key=u.__getitem__)[:2]
    assert sorted(drawn_first(0, "a", ids).tolist()) == [0, 1, 2, 3]


@pytest.mark.parametrize("size", [0, 1, 7, 400, 900, 999, 1000, 2000])
@pytest.mark.parametrize("seed", range(5))
def test_a_draw_is_the_beginning_of_the_whole_order(size: int, seed: int) -> None:
    ids = np.arange(1000)
    assert np.array_equal(drawn_first(seed, "a", ids, size), drawn_first(seed, "a", ids)[:size])


def test_numbers_that_are_all_large_or_alike_are_drawn_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("winnow.core.seeds.uniforms", lambda *_: np.full(1000, 0.9))
    assert drawn_first(0, "a", np.arange(1000), 20).tolist() == list(range(20))
    monkeypatch.setattr("winnow.core.seeds.uniforms", lambda *_: np.full(1000, 0.01))
    assert drawn_first(0, "a", np.arange(1000), 20).tolist() == list(range(20))


def test_every_subset_is_drawn_equally_often():
    counts = dict.fromkeys(itertools.combinations(range(5), 2), 0)
    for seed in range(4000):
        counts[tuple(sorted(drawn_first(seed, "a", np.arange(5), 2).tolist()))] += 1
    assert stats.chisquare(list(counts.values())).pvalue > 1e-3
