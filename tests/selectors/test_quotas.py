"""Quotas around a selector whose choices are known: who is asked for what, and what is said about it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest

import winnow as wn
from winnow.artefacts import Signals
from winnow.core.errors import InputError
from winnow.selectors.balance import Balance, class_names, combine, groups_of, share_of
from winnow.selectors.pool import Choice, Pool

LABELS = np.repeat([0, 1, 2], [12, 6, 2])


def first(pool: Pool, size: int, *, seed: int, weighted: bool = False, words: bool = False) -> Choice:
    """Takes the hardest; may weigh them, may say something."""
    positions = np.argsort(-pool.difficulty, kind="stable")[:size]
    weights = 1.0 + np.arange(size) if weighted else None
    return Choice(positions, weights, {"asked": size, "of": pool.n} if words else {})


def pool(**options: Any) -> Pool:
    given = {"labels": LABELS, "classes": ("a", "b", "c"), "scores": -np.arange(20.0), **options}
    return Pool(20, 0.5, "classification", **given)


def test_floors_are_filled_from_their_class_and_the_rest_from_what_is_left() -> None:
    made = combine(first, pool(), 10, 0.6, seed=0, parameters={})
    # 0.6 of a third of ten is two of each class; the four others are the hardest of all that is left
    assert sorted(made.positions.tolist()) == [0, 1, 2, 3, 4, 5, 12, 13, 18, 19]
    assert made.weights is not None
    assert made.weights.tolist() == [1.0] * 10
    assert made.certificate["floors"] == {"a": 2, "b": 2, "c": 2}
    assert (made.certificate["groups"], made.certificate["balance"], made.certificate["parts"]) == ("classes", 0.6, {})
    assert "cluster_counts" not in made.certificate


def test_what_a_class_lacks_is_shared_out_over_the_others() -> None:
    made = combine(first, pool(), 12, 1.0, seed=0, parameters={"words": True})
    assert np.bincount(LABELS[made.positions]).tolist() == [5, 5, 2]
    parts = made.certificate["parts"]
    assert {name: part["asked"] for name, part in parts.items()} == {"a": 5, "b": 5, "c": 2}  # and no rest
    assert {name: part["of"] for name, part in parts.items()} == {"a": 12, "b": 6, "c": 2}


def test_no_floor_asks_once_among_all() -> None:
    made = combine(first, pool(), 10, 0.0, seed=0, parameters={"words": True})
    assert made.positions.tolist() == list(range(10))
    assert made.certificate["parts"] == {"rest": {"asked": 10, "of": 20}}


def test_weights_stay_with_what_they_were_given_to() -> None:
    made = combine(first, pool(), 10, 0.6, seed=0, parameters={"weighted": True})
    assert made.weights is not None
    found = dict(zip(made.positions.tolist(), made.weights.tolist(), strict=True))
    assert found == {0: 1, 1: 2, 12: 1, 13: 2, 18: 1, 19: 2, 2: 1, 3: 2, 4: 3, 5: 4}


def test_every_class_draws_by_the_ids_of_its_own() -> None:
    seen: list[tuple[int, list[int]]] = []

    def noted(pool: Pool, size: int, *, seed: int) -> Choice:
        seen.append((seed, pool.ids.tolist()))
        return first(pool, size, seed=seed)

    combine(noted, pool(ids=np.arange(100, 120)), 10, 0.6, seed=3, parameters={})
    left = [*range(102, 112), *range(114, 118)]
    ids = [list(range(100, 112)), list(range(112, 118)), [118, 119], left]
    assert seen == [(3, part) for part in ids]


def test_a_pool_without_ids_has_positions_for_ids() -> None:
    assert pool().ids.tolist() == list(range(20))
    assert pool().take(np.array([7, 3])).ids.tolist() == [7, 3]


def test_a_selector_that_chooses_by_group_is_told_how_many_of_each() -> None:
    seen: list[tuple[tuple[str, list[int], int], ...]] = []

    def told(pool: Pool, size: int, *, seed: int) -> Choice:
        assert pool.shares is not None
        seen.append(tuple((name, where.tolist(), count) for name, where, count in pool.shares))
        kept = np.concatenate([where[:count] for _, where, count in pool.shares])
        return Choice(kept, np.full(size, 2.0), {"own": 1})

    made = combine(told, pool(), 10, 0.6, seed=0, parameters={}, by_group=True)
    # floors of two each, then four more in proportion to the 10, 4 and 0 that are left
    assert seen == [(("a", list(range(12)), 5), ("b", list(range(12, 18)), 3), ("c", [18, 19], 2))]
    assert made.certificate["own"] == 1
    assert made.certificate["floors"] == {"a": 2, "b": 2, "c": 2}
    assert made.weights is not None
    assert made.weights.tolist() == [2.0] * 10


def test_what_balance_may_be() -> None:
    declared = get_args(Balance)[1]
    assert [declared.read(text) for text in ("none", "auto", "0.25")] == [None, "auto", 0.25]
    with pytest.raises(InputError, match=r"--balance must be a number in \[0, 1\], auto or none; got 'most'"):
        declared.read("most")
    assert [declared.check("balance", "x", value) for value in ("auto", 0.0, 1.0)] == ["auto", 0.0, 1.0]
    for value in ("most", -0.1, 1.1):
        with pytest.raises(InputError, match="balance of x"):
            declared.check("balance", "x", value)
    assert [share_of("auto", task) for task in ("classification", "regression")] == [0.5, None]
    assert [share_of(value, "regression") for value in (0.0, 0.3, None)] == [0.0, 0.3, None]


def test_classes_without_names_are_numbers() -> None:
    assert class_names((), np.array([0, 3, 1])) == ("0", "1", "2", "3")
    assert class_names(("x", "y"), np.array([0])) == ("x", "y")


@pytest.mark.parametrize("n", [5, 40])
def test_without_classes_clusters_take_their_place(n: int) -> None:
    rng = np.random.default_rng(0)
    numbers, rows = rng.normal(size=n), rng.normal(size=(n, 4)).astype(np.float32)
    signals = Signals(np.arange(n), {"embeddings": rows}, "regression", numbers)
    given = Pool(n, 0.5, "regression", labels=numbers, scores=rng.normal(size=n), signals=signals)
    group, names = groups_of(given, 0)
    assert len(names) == min(n, 10)
    assert set(group.tolist()) <= set(range(len(names)))
    size = n - 2
    made = combine(first, given, size, 1.0, seed=0, parameters={})
    counts = made.certificate["cluster_counts"]
    assert made.certificate["groups"] == "clusters"
    assert list(counts.values()) == np.bincount(group[made.positions], minlength=len(names)).tolist()
    assert sum(counts.values()) == size
    assert 0 <= made.certificate["cluster_balance"] <= 1


def rare(share: float, n: int = 2000) -> wn.Scores:
    """Scores of two classes, one of them this rare, that say nothing."""
    draw = np.random.default_rng(1)
    labels = (np.arange(n) < share * n).astype(np.int64)
    return wn.Scores("mine", np.arange(n), draw.random(n), task="classification", labels=labels, classes=("a", "b"))


@pytest.mark.parametrize("selector", ["random", "rank", "strata"])
@pytest.mark.parametrize(("share", "keep"), [(0.05, 0.1), (0.05, 0.5), (0.3, 0.1)])
def test_auto_hardly_makes_a_rare_class_more_common(selector, share, keep) -> None:
    kept = wn.select(selector, rare(share), keep=keep).certificate["class_counts"]["b"]
    own = share * keep * 2000
    assert 0.5 * own <= kept < 1.9 * own  # an equal share would be up to ten times as many


def test_auto_guarantees_half_of_an_equal_part_where_classes_are_alike() -> None:
    assert share_of("auto", "classification", np.array([100, 100, 0])) == 0.5
    assert share_of("auto", "classification", np.array([90, 110])) == pytest.approx(0.45)
    assert share_of("auto", "multilabel", None) == 0.5
    assert share_of("auto", "regression", None) is None
    assert share_of(0.7, "classification", np.array([1, 99])) == 0.7


def test_a_rare_class_does_not_vanish_by_auto() -> None:
    few = rare(0.05)
    hard = replace(few, values=np.where(few.labels == 1, 0.0, 1.0) + few.values)  # all of the rare class is easiest
    assert wn.select("rank", hard, keep=0.1).certificate["class_counts"]["b"] == 5


def test_a_file_of_scores_has_the_same_quotas(tmp_path) -> None:
    few = rare(0.05)
    few.save(tmp_path / "scores.parquet")
    assert set(wn.select("rank", tmp_path / "scores.parquet", keep=0.1).ids) == set(
        wn.select("rank", few, keep=0.1).ids
    )
