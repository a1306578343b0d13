"""The selectors against their slow twins, and on cases small enough to work out by hand."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import selectors as oracle
from winnow.artefacts import Scores, Signals
from winnow.artefacts.quotas import class_balance, floors, share_out
from winnow.scores.arithmetic import mean_true_probability
from winnow.selectors.beta import beta, log_density
from winnow.selectors.class_centre import class_centre
from winnow.selectors.facility_location import facility_location
from winnow.selectors.graph import graph
from winnow.selectors.herding import herding
from winnow.selectors.kcenter import kcenter
from winnow.selectors.leading_directions import centred, coordinates, leading
from winnow.selectors.moderate import moderate
from winnow.selectors.pool import Pool
from winnow.selectors.rank import rank
from winnow.selectors.select import select
from winnow.selectors.strata import strata


def problem(seed: int, n: int = 40, size: int = 13, negative: bool = False) -> Pool:
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n)
    signals = Signals(
        ids=np.arange(n),
        task="classification",
        labels=labels,
        classes=("a", "b", "c"),
        epochs=(1, 2),
        arrays={"embeddings": rng.normal(size=(n, 3)), "logits": rng.normal(size=(2, 2, n, 3))},
    )
    scores = rng.normal(size=n) if negative else rng.gamma(1.0, size=n)
    return Pool(
        n=n,
        keep=size / n,
        task="classification",
        labels=labels,
        classes=("a", "b", "c"),
        scores=scores,
        score_name="made",
        signals=signals,
    )


SEEDS = pytest.mark.parametrize("seed", range(6))


@SEEDS
@pytest.mark.parametrize("drop", [0.0, 0.25, 0.9])
def test_strata(seed, drop):
    pool = problem(seed, negative=seed % 2 == 1)
    picked = strata(pool, 13, seed=seed, drop=drop).positions
    assert picked.tolist() == oracle.strata(pool.scores.tolist(), 13, drop, seed=seed)


@SEEDS
@pytest.mark.parametrize("size", [1, 13, 40])
def test_graph(seed, size):
    pool = problem(seed, negative=seed % 2 == 1)
    picked = graph(pool, size, k=4, gamma=0.5).positions
    assert picked.tolist() == oracle.graph(pool.scores.tolist(), pool.signals.embeddings, size, k=4, gamma=0.5)


@SEEDS
@pytest.mark.parametrize("size", [1, 13, 40])
def test_kcenter(seed, size):
    pool = problem(seed)
    assert kcenter(pool, size).positions.tolist() == oracle.kcenter(pool.signals.embeddings, size)


@SEEDS
@pytest.mark.parametrize("size", [1, 13, 30])
def test_facility_location(seed, size):
    pool = problem(seed)
    assert facility_location(pool, size, k=6).positions.tolist() == oracle.facility_location(
        pool.signals.embeddings, size, 6
    )


def plain_kcenter(points, size):
    """The picks of a plain loop over all examples, and the radius."""
    points = points.astype(np.float64) - points.mean(axis=0, dtype=np.float64)
    picked = [int(np.square(points).sum(axis=1).argmin())]
    gap = np.square(points - points[picked[0]]).sum(axis=1)
    while len(picked) < size:
        gap[picked[-1]] = -1.0
        picked.append(int(gap.argmax()))
        gap = np.minimum(gap, np.square(points - points[picked[-1]]).sum(axis=1))
    gap[picked] = 0.0
    return picked, np.sqrt(gap.max())


def plain_herding(points, size):
    points = points.astype(np.float64) - points.mean(axis=0, dtype=np.float64)
    cost, total, picked = np.square(points).sum(axis=1), np.zeros(points.shape[1]), []
    while len(picked) < size:
        picked.append(int((cost + 2.0 * (points @ total)).argmin()))
        total += points[picked[-1]]
        cost[picked[-1]] = np.inf
    return picked


def made_of(embeddings) -> Pool:
    n = len(embeddings)
    signals = Signals(ids=np.arange(n), task="unlabelled", arrays={"embeddings": embeddings})
    return Pool(n=n, keep=0.1, task="unlabelled", signals=signals)


@pytest.mark.parametrize("kind", ["wide", "clusters", "copies", "far", "long", "double"])
def test_lazy_kcenter_and_herding_in_bytes_pick_as_plain_loops_do(kind):
    """Rounding in single precision and in bytes must not change a pick; copies are taken in order."""
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((3_000, 40))
    if kind == "clusters":
        rows = rows * np.geomspace(1, 0.01, 40) + 3 * rng.standard_normal((8, 40))[rng.integers(0, 8, 3_000)]
    elif kind == "copies":
        rows[1_000:] = rows[rng.integers(0, 1_000, 2_000)]
    elif kind == "far":
        rows += 1_000
    elif kind == "long":
        rows *= 1e20
    pool = made_of(rows.astype(np.float64 if kind == "double" else np.float32))
    found = kcenter(pool, 200)
    picked, radius = plain_kcenter(pool.observed.embeddings, 200)
    assert found.positions.tolist() == picked
    assert found.certificate["radius"] == pytest.approx(radius, rel=1e-6)
    if kind != "copies":  # the last bit of a product decides between them in the plain loop
        assert herding(pool, 200).positions.tolist() == plain_herding(pool.observed.embeddings, 200)


def test_herding_picks_the_same_with_and_without_torch(monkeypatch):
    rng = np.random.default_rng(5)
    pool = made_of((rng.standard_normal((2_000, 70)) * np.geomspace(1, 0.1, 70)).astype(np.float32))
    with_torch = herding(pool, 150).positions
    monkeypatch.setitem(sys.modules, "torch", None)
    assert herding(pool, 150).positions.tolist() == with_torch.tolist()
    assert with_torch.tolist() == plain_herding(pool.observed.embeddings, 150)


@pytest.mark.parametrize(("n", "dims", "scale"), [(500, 30, 1.0), (40, 60, 1e-18), (300, 20, 1e19)])
def test_leading_coordinates_never_overstate_a_distance(n, dims, scale):
    rng = np.random.default_rng(n)
    rows = (rng.standard_normal((n, dims)) * np.geomspace(1, 0.01, dims) + 5) * scale
    given = centred(rows)
    front = coordinates(given, leading(given, 8)).astype(np.float64)
    apart = np.sqrt(np.square(rows[:, None] / given.unit - rows / given.unit).sum(2))
    least = np.sqrt(np.square(front[:, None] - front).sum(2))
    assert (least <= apart + 1e-6).all()
    assert least.mean() > 0.5 * apart.mean()
    assert given.mean == pytest.approx(rows.mean(axis=0))


def test_herding_in_shards_stays_close_to_the_mean():
    pool = made_of(np.random.default_rng(0).standard_normal((4_000, 16)).astype(np.float32))
    whole, parts, random = herding(pool, 400), herding(pool, 400, shards=4), pool.points[:400].mean(axis=0)
    assert len(set(parts.positions.tolist())) == 400
    assert parts.certificate["mean_gap"] <= 4 * whole.certificate["mean_gap"]
    assert parts.certificate["mean_gap"] < 0.2 * np.linalg.norm(random)


def test_facility_location_serves_examples_better_than_kcenter_and_says_how_well():
    rng = np.random.default_rng(1)
    rows = 4 * rng.standard_normal((12, 8))[rng.integers(0, 12, 2_000)] + rng.standard_normal((2_000, 8))
    pool = made_of(rows.astype(np.float32))
    found = facility_location(pool, 100)
    points = pool.points
    far = [np.sqrt(np.square(points[:, None] - points[made]).sum(2)).min(1) for made in
           (found.positions, kcenter(pool, 100).positions, np.arange(100))]  # fmt: skip
    assert found.certificate["distance"] == pytest.approx(far[0].mean(), rel=1e-4)
    assert far[0].mean() < 0.95 * min(far[1].mean(), far[2].mean())
    assert 0.9 < found.certificate["served"] <= 1


@SEEDS
@pytest.mark.parametrize("size", [1, 13, 40])
def test_herding(seed, size):
    pool = problem(seed)
    assert herding(pool, size).positions.tolist() == oracle.herding(pool.signals.embeddings, size)


@SEEDS
@pytest.mark.parametrize("size", [1, 13, 40])
def test_class_centre(seed, size):
    pool = problem(seed)
    twin = oracle.class_centre(pool.signals.embeddings, pool.labels.tolist(), size)
    assert class_centre(pool, size).positions.tolist() == twin


@SEEDS
@pytest.mark.parametrize("size", [1, 13, 40])
def test_moderate(seed, size):
    pool = problem(seed)
    twin = oracle.moderate(pool.signals.embeddings, pool.labels.tolist(), size)
    assert moderate(pool, size).positions.tolist() == twin


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=8), st.floats(0, 1), st.data())
def test_floors(counts, balance, data):
    size = data.draw(st.integers(min(1, sum(counts)), max(1, sum(counts))))
    made = floors(np.array(counts), size, balance)
    assert made.tolist() == oracle.floors(counts, size, balance)
    assert made.sum() <= size
    for floor, available in zip(made.tolist(), counts, strict=True):
        assert floor >= min(available, int(balance * size / len(counts)))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=8), st.data())
def test_share_out(capacity, data):
    total = data.draw(st.integers(0, sum(capacity)))
    parts = share_out(np.array(capacity), total)
    assert parts.tolist() == oracle.shares(capacity, total)
    assert parts.sum() == total


@pytest.mark.parametrize(
    ("counts", "expected"), [([5, 5, 5], 1.0), ([4, 2], 0.5), ([4, 2, 0], 1 / 6), ([7, 0], 0.0), ([0, 0, 3], 0.0)]
)
def test_class_balance(counts, expected):
    labels = np.repeat(np.arange(len(counts)), counts)
    assert class_balance(labels, len(counts)) == pytest.approx(expected)
    assert class_balance(labels, len(counts)) == pytest.approx(oracle.class_balance(counts))


@pytest.mark.parametrize("keep", [0.05, 0.3, 0.9])
def test_beta_weights_are_the_published_ones(keep):
    pool = problem(1)
    mean = mean_true_probability(pool.signals, 2)
    about = beta(pool, max(1, round(keep * 40)), seed=0).certificate
    twin = np.array(oracle.beta_weights(pool.scores.tolist(), mean.tolist(), pool.keep))
    ours = pool.scores * np.exp(log_density(mean, about["a"], about["b"]))
    assert about["a"] + about["b"] == pytest.approx(16)
    assert about["anchor"] == mean[pool.scores.argmax()]
    assert np.allclose(ours / ours.sum(), twin / twin.sum(), rtol=1e-9)


def test_beta_draws_in_proportion():
    """First draws over many seeds follow the weights (chi-squared with 5 degrees of freedom, p > .001)."""
    pool = problem(3, n=6, size=1)
    mean = mean_true_probability(pool.signals, 2)
    weights = np.array(oracle.beta_weights(pool.scores.tolist(), mean.tolist(), 1 / 6))
    expected = 3000 * weights / weights.sum()
    drawn = np.bincount([int(beta(pool, 1, seed=seed).positions[0]) for seed in range(3000)], minlength=6)
    solid = expected >= 5
    assert (np.square(drawn - expected)[solid] / expected[solid]).sum() < 20.5


def test_beta_takes_zero_weights_last_and_stands_certain_predictions():
    labels = np.zeros(8, dtype=int)
    logits = np.zeros((1, 2, 8, 2))
    logits[..., :4, 0], logits[..., 4:, 0] = 1e4, -1e4  # mean predictions of exactly 1 and 0
    signals = Signals(
        ids=np.arange(8),
        task="classification",
        labels=labels,
        classes=("a", "b"),
        epochs=(1, 2),
        arrays={"logits": logits},
    )
    for top in (0, 7):
        scores = np.array([1.0, 0, 1, 0, 1, 0, 1, 1])
        scores[top] = 2.0
        pool = Pool(
            n=8, keep=5 / 8, task="classification", labels=labels, classes=("a", "b"), scores=scores, signals=signals
        )
        assert sorted(beta(pool, 5).positions.tolist()) == [0, 2, 4, 6, 7]
        assert np.unique(beta(pool, 8).positions).size == 8


def scored(values, **more) -> Scores:
    return Scores(name="made", ids=np.arange(len(values)), values=np.asarray(values, dtype=float), **more)


def test_rank_policies():
    given = scored([5, 1, 4, 2, 3, 0, 9, 8, 7, 6])
    assert select("rank", given, size=3).ids.tolist() == [6, 7, 8]
    assert select("rank", given, size=3, policy="easy").ids.tolist() == [1, 3, 5]
    assert select("rank", given, size=4, policy="window").ids.tolist() == [0, 2, 4, 9]
    assert select("rank", given, size=4, policy="window", skip=0.1).ids.tolist() == [0, 7, 8, 9]


def test_rank_breaks_ties_by_seed_not_by_id():
    given = scored([1.0] * 200)
    picks = [select("rank", given, size=100, seed=seed).ids.tolist() for seed in (0, 1, 0)]
    assert picks[0] == picks[2] != picks[1]
    assert 30 < sum(number < 100 for number in picks[0]) < 70


@pytest.mark.parametrize(
    ("keep", "dropped"), [(0.9, 0.0), (0.5, 0.0), (0.35, 0.1), (0.2, 0.2), (0.15, 0.25), (0.1, 0.3), (0.02, 0.3)]
)
def test_strata_drop_follows_the_fraction_removed(keep, dropped):
    out = select("strata", scored(np.linspace(0, 1, 1000)), keep=keep)
    assert out.certificate["dropped"] == round(1000 * dropped)
    assert out.ids.max() < 1000 * (1 - dropped)


def test_strata_covers_the_range_evenly():
    values = np.concatenate([np.linspace(0, 0.1, 900), np.linspace(0.1, 1, 100)])
    out = select("strata", scored(values), size=100, drop=0.0, bins=10)
    held = np.histogram(values[out.ids], bins=10, range=(0, 1))[0]
    assert held.min() >= 9
    assert held.max() <= 12


def test_quotas_leave_the_policy_of_the_method_alone():
    """With half removed strata drops nothing, in a class's floor as in the whole."""
    labels = np.arange(400) % 4
    given = scored(np.linspace(0, 1, 400), task="classification", labels=labels, classes=tuple("abcd"))
    parts = select("strata", given, keep=0.5, balance=0.5).certificate["parts"]
    assert set(parts) == {"a", "b", "c", "d", "rest"}
    assert all(part["dropped"] == 0 for part in parts.values())


def test_quotas_take_the_best_of_each_class():
    labels = np.repeat([0, 1], [8, 4])
    values = [12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]
    given = scored(values, task="classification", labels=labels, classes=("big", "small"))
    assert select("rank", given, size=6, balance=None).ids.tolist() == [0, 1, 2, 3, 4, 5]
    assert select("rank", given, size=6, balance=0.5).ids.tolist() == [0, 1, 2, 3, 8, 9]
    assert select("rank", given, size=6, balance=1.0).ids.tolist() == [0, 1, 2, 8, 9, 10]


def test_kcenter_covers_and_herding_follows_the_mean():
    pool = problem(9, n=200, size=20)
    points = pool.signals.embeddings
    everyone = rank(pool, 20).positions
    radius = kcenter(pool, 20).certificate["radius"]
    gaps = np.sqrt(np.square(points[:, None] - points[everyone]).sum(axis=2)).min(axis=1)
    assert radius < gaps.max()
    assert herding(pool, 20).certificate["mean_gap"] < 0.1 * np.linalg.norm(points[everyone].mean(0) - points.mean(0))


def test_graph_spreads_picks_over_clusters():
    """Two tight groups: rank takes the harder group only, the graph takes from both."""
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(0, 0.05, (30, 2)), rng.normal(9, 0.05, (30, 2))])
    values = np.concatenate([rng.uniform(1.0, 1.1, 30), rng.uniform(0.8, 0.9, 30)])
    signals = Signals(ids=np.arange(60), task="unlabelled", arrays={"embeddings": points})
    assert (select("rank", scored(values), size=20).ids < 30).all()
    picked = select("graph", scored(values), size=20, signals=signals).ids
    assert 7 <= (picked < 30).sum() <= 13


def test_scores_may_be_about_part_of_the_signals():
    pool = problem(4)
    given = Scores(name="made", ids=np.arange(0, 40, 2), values=pool.scores[::2])
    out = select("graph", given, size=5, signals=pool.signals)
    assert np.isin(out.ids, given.ids).all()
    assert out.certificate["class_counts"] is not None  # labels come with the signals


def test_every_class_draws_from_its_own_stream() -> None:
    labels = np.arange(120) // 40
    scores = Scores("flat", np.arange(120), np.zeros(120), None, "classification", labels, ("a", "b", "c"))
    kept = select("random", scores, size=30, balance=1.0).ids
    places = [tuple(kept[(kept >= 40 * k) & (kept < 40 * k + 40)] - 40 * k) for k in range(3)]
    assert len(set(places)) == 3
