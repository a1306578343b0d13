"""What draws keyed by id promise: other examples change no draw, and a subset of a grown source is the natural one."""

from __future__ import annotations

import importlib
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from winnow.artefacts import Scores, Signals
from winnow.core.errors import InputError
from winnow.evaluation.arms import _draw
from winnow.methods.influence.solver import Schedule, solve
from winnow.selectors.select import select
from winnow.signals.clusters import starting_rows
from winnow.signals.ensemble import memberships
from winnow.sources.holdout import hold_out, sample
from winnow.sources.open import open as wn_open

CLASSES = ("a", "b", "c")


def made(ids, values=None) -> Scores:
    """Scores of examples whose label follows from the id."""
    ids = np.asarray(ids)
    given = np.ones(ids.size) if values is None else values
    return Scores("made", ids, given, task="classification", labels=ids % 3, classes=CLASSES)


def kept(name, ids, size, **options) -> set[int]:
    return set(select(name, made(ids), size=size, **options).ids.tolist())


@pytest.mark.parametrize("balance", [None, 0.5, 1.0])
def test_a_smaller_random_subset_is_part_of_a_larger_one(balance) -> None:
    ids = np.arange(300)
    sizes = [kept("random", ids, size, balance=balance) for size in (30, 60, 150, 300)]
    assert all(small < large for small, large in pairwise(sizes))


@pytest.mark.parametrize("balance", [None, 0.5])
@pytest.mark.parametrize("name", ["random", "rank", "strata"])
def test_a_grown_source_gives_way_only_to_newcomers(name, balance) -> None:
    old, new = np.arange(300), np.arange(330)
    before, after = (kept(name, ids, 165, balance=balance) for ids in (old, new))
    assert {i for i in after if i < 300} < before  # nobody who was out comes in
    assert 165 - len(after & before) == sum(i >= 300 for i in after)


def test_floors_that_do_not_bind_change_nothing() -> None:
    ids = np.arange(300)
    assert kept("random", ids, 150, balance=0.5) == kept("random", ids, 150, balance=None)


def test_random_subsets_of_classes_are_not_alike() -> None:
    """The places drawn in one class, counted in the order of the ids, are not those drawn in the next."""
    drawn = kept("random", np.arange(300), 60, balance=1.0)
    places = [sorted(i // 3 for i in drawn if i % 3 == label) for label in range(3)]
    assert places[0] != places[1] != places[2]


@pytest.mark.parametrize("labelled", [True, False])
def test_hold_out_and_sample_of_a_grown_source(labelled) -> None:
    x = np.random.default_rng(0).normal(size=(400, 2))
    y = np.arange(400) % 2
    whole = wn_open((x, y)) if labelled else wn_open(x)
    part = whole.at(np.arange(300))
    for total in (lambda s: hold_out(s, 60 / len(s), 3)[1], lambda s: sample(s, 60, 3)):
        before, after = set(total(part).ids.tolist()), set(total(whole).ids.tolist())
        assert len(before) == len(after) == 60
        assert after & set(part.ids.tolist()) <= before


def test_random_arms_are_nested_by_size_and_differ_by_seed() -> None:
    source = wn_open((np.random.default_rng(0).normal(size=(200, 2)), np.arange(200) % 2))
    large, small, other = (set(_draw(source, *how).ids.tolist()) for how in ((90, 0, 1), (40, 0, 1), (40, 0, 2)))
    assert (len(large), len(small), len(other)) == (90, 40, 40)
    assert small < large
    assert small != other
    mixed = source.at(np.random.default_rng(1).permutation(200))
    assert set(_draw(mixed, 40, 0, 1).ids.tolist()) == small


def test_an_example_more_moves_few_between_the_folds_of_an_ensemble() -> None:
    ids = np.arange(1000)
    before, after = memberships(ids, 10, 0), memberships(np.append(ids, 5000), 10, 0)
    assert (before != after[:, :1000]).any(axis=0).sum() <= 9
    mixed = np.random.default_rng(0).permutation(1000)
    assert np.array_equal(memberships(ids[mixed], 10, 0), before[:, mixed])


def test_swaps_of_the_influence_solver_follow_the_ids() -> None:
    """Whole numbers, so that sums are exact and only the draws can differ."""
    rng = np.random.default_rng(0)
    rows, groups, ids = (
        rng.integers(-9, 10, (200, 6)).astype(np.float32),
        np.arange(200) % 2,
        rng.permutation(9000)[:200],
    )
    mixed = rng.permutation(200)

    def removed(where, names) -> set[int]:
        cooling = Schedule(0.5, 0.01)
        found = solve(rows[where], groups[where], np.array([40, 30]), 1, 5000, cooling, names)
        assert found.accepted
        return set(names[found.removed].tolist())

    before = removed(np.arange(200), ids)
    assert removed(mixed, ids[mixed]) == before
    assert set(ids[np.isin(ids, list(before))].tolist()) != removed(np.arange(200), ids + 1)


def test_centroids_start_in_proportion_to_the_squared_distance() -> None:
    """k-means++: of four points on a line, the pairs drawn over many seeds follow their probabilities."""
    rows = np.array([[0.0], [1.0], [3.0], [7.0]])
    counts = np.zeros((4, 4))
    for seed in range(4000):
        first, second = starting_rows(rows, 2, np.arange(4), seed)
        counts[first, second] += 1
    squares = np.square(rows - rows.T)
    expected = 4000 * squares / squares.sum(axis=1, keepdims=True) / 4
    off = ~np.eye(4, dtype=bool)
    assert counts[~off].sum() == 0
    assert stats.chisquare(counts[off], expected[off]).pvalue > 1e-3


def test_third_centroids_start_in_proportion_too() -> None:
    """Waiting times are used again after each draw, at new rates; the third draw must not show it."""
    rows = np.array([[0.0], [1.0], [3.0], [7.0], [8.0]])
    seen, expected = {}, {}
    squares = np.square(rows - rows.T)
    for seed in range(6000):
        trio = tuple(starting_rows(rows, 3, np.arange(5), seed).tolist())
        seen[trio] = seen.get(trio, 0) + 1
    for a in range(5):
        for b in range(5):
            for c in range(5):
                if len({a, b, c}) == 3:
                    gap = np.minimum(squares[a], squares[b])
                    expected[a, b, c] = 6000 / 5 * squares[a, b] / squares[a].sum() * gap[c] / gap.sum()
    common = [trio for trio, count in expected.items() if count >= 5]
    table = [seen.get(trio, 0) for trio in common], [expected[trio] for trio in common]
    rest = [6000 - sum(table[0]), 6000 - sum(table[1])]
    assert stats.chisquare([*table[0], rest[0]], [*table[1], rest[1]]).pvalue > 1e-3


def signals(n=120, seed=0) -> Signals:
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    return Signals(
        ids=np.arange(n),
        task="classification",
        labels=labels,
        classes=CLASSES,
        epochs=tuple(range(1, 13)),
        arrays={"logits": rng.normal(size=(1, 12, n, 3)), "embeddings": rng.normal(size=(n, 4)) + 5 * labels[:, None]},
    )


@pytest.mark.parametrize("balance", [None, 0.5])
@pytest.mark.parametrize("uniform", [0.0, 0.3, 0.5, 1.0])
def test_beta_mixes_in_uniform_draws(uniform, balance) -> None:
    out = select("beta", signals(), size=37, balance=balance, uniform=uniform)
    assert np.unique(out.ids).size == 37
    again = select("beta", signals(), size=37, balance=balance, uniform=uniform)
    assert np.array_equal(out.ids, again.ids)
    if balance is None:
        assert out.certificate["uniform"] == round(37 * uniform)


def test_the_uniform_part_of_beta_is_uniform_and_the_rest_is_not_changed_by_it() -> None:
    scored, n = signals(), 120
    times = np.zeros(n)
    for seed in range(400):
        times[select("beta", scored, size=30, balance=None, uniform=1.0, seed=seed).ids] += 1
    assert stats.chisquare(times).pvalue > 1e-3
    plain, half = (select("beta", scored, size=30, balance=None, uniform=share).ids for share in (0.0, 0.5))
    assert np.intersect1d(plain, half).size >= 15  # the first half of the sampled ones stay, or were drawn anyway


@pytest.mark.parametrize("uniform", [-0.1, 1.1, "half"])
def test_a_share_outside_is_refused(uniform) -> None:
    with pytest.raises(InputError, match="uniform of selector 'beta'"):
        select("beta", signals(), size=5, uniform=uniform)


def test_medoids_find_one_example_of_each_clump() -> None:
    rng = np.random.default_rng(0)
    centres = 20 * rng.normal(size=(12, 5))
    clump = np.arange(240) % 12
    points = centres[clump] + 0.1 * rng.normal(size=(240, 5))
    given = Signals(
        ids=np.arange(240), task="classification", labels=clump % 3, classes=CLASSES, arrays={"embeddings": points}
    )
    out = select("medoids", given, size=12)
    assert sorted(clump[out.ids].tolist()) == list(range(12))
    assert out.certificate["filled"] == 0
    assert out.certificate["distance"] == pytest.approx(0.1 * np.sqrt(5), rel=0.1)
    for i in out.ids:  # nearest of its clump to the clump's mean
        inside = np.flatnonzero(clump == clump[i])
        far = np.square(points[inside] - points[inside].mean(axis=0)).sum(axis=1)
        assert inside[far.argmin()] == i


def unlike_crowds(n: int) -> tuple[Signals, np.ndarray]:
    """Four of five examples crowd together; the others are far apart from each other."""
    rng = np.random.default_rng(0)
    apart = np.arange(n) % 5 == 0
    points = np.where(apart[:, None], 6.0, 1.0) * rng.normal(size=(n, 8))
    return Signals(ids=np.arange(n), task="unlabelled", arrays={"embeddings": points}), apart


@pytest.mark.parametrize("n", [1500, 9000])
def test_many_medoids_follow_how_many_examples_there_are_and_not_how_far_apart(n: int) -> None:
    given, apart = unlike_crowds(n)
    kept = select("medoids", given, keep=0.1)
    assert len(kept) == n // 10
    assert 0.15 < apart[kept.ids].mean() < 0.5  # a fifth are so; from a start by k-means++ it would be .7 or more


def test_medoids_of_a_large_group_are_those_of_its_halves_in_any_order() -> None:
    rows = np.random.default_rng(0).normal(size=(2100, 6)) * [9, 1, 1, 1, 1, 1]
    given = Signals(ids=np.arange(2100), task="unlabelled", arrays={"embeddings": rows})
    kept = select("medoids", given, size=210)
    lower = np.argsort(rows[:, 0])[:1050]
    assert np.isin(kept.ids, lower).sum() == pytest.approx(
        105, abs=3
    )  # the direction is nearly that of the first column
    mixed = np.random.default_rng(1).permutation(2100)
    again = Signals(ids=mixed, task="unlabelled", arrays={"embeddings": rows[mixed]})
    assert set(select("medoids", again, size=210).ids) == set(kept.ids)


def test_a_large_group_is_cut_into_parts_of_like_size_that_keep_their_shares() -> None:
    parts = importlib.import_module("winnow.selectors.medoids")._parts
    rows, where = np.random.default_rng(0).normal(size=(9000, 4)), np.arange(1, 9000)
    found = parts(rows, np.arange(9000), where, 900)
    assert sorted(np.concatenate([part for part, _ in found]).tolist()) == where.tolist()
    assert [len(found), sum(count for _, count in found)] == [8, 900]
    assert all(1024 <= part.size < 2048 and count in (112, 113) for part, count in found)
    assert len(parts(rows, np.arange(9000), where, 63)) == 1  # too few centres to share out
    assert len(parts(rows, np.arange(9000), where[:2047], 900)) == 1


def test_medoids_of_copies_fill_up_the_size_and_rounds_are_checked() -> None:
    given = Signals(ids=np.arange(30), task="unlabelled", arrays={"embeddings": np.repeat(np.eye(3), 10, axis=0)})
    out = select("medoids", given, size=9)
    assert len(out) == 9
    assert out.certificate["filled"] == 6
    assert {int(i) // 10 for i in out.ids} == {0, 1, 2}
    with pytest.raises(InputError, match="rounds of selector 'medoids'"):
        select("medoids", given, size=9, rounds=0)
