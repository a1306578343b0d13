"""The veto: a candidate that is worse than random is never used, one that is better is, and test data have no say."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
import torch

import winnow as wn
from tests.signals.small import Counting, rows
from winnow.artefacts import Source, Subset
from winnow.core.run import Run
from winnow.engines import Local
from winnow.pruning.veto import FEWEST, Untried, Veto, can_be_tried, extent, veto

RECIPE = wn.Recipe(epochs=8, batch=16, lr=0.01)
ONE = Local(workers=1)


def half_wrong(n: int = 400) -> tuple[Source, np.ndarray]:
    """Two classes that a line separates, with two fifths of the labels wrong; and which are right."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2)).astype(np.float32)
    right = rng.random(n) > 0.4
    y = (x[:, 0] > 0).astype(int)
    return wn.open((x, np.where(right, y, 1 - y))), right


def drawn(pool: np.ndarray) -> Any:
    """Draws 60 examples of a pool of positions of the whole source."""

    def draw(part: Source, number: int) -> Subset:
        inside = np.intersect1d(part.ids, pool)
        return Subset(np.random.default_rng(number).permutation(inside)[:60])

    return draw


def tried(candidate: Any, random: Any, source: Source, **options: Any) -> Veto:
    usual: dict[str, Any] = {
        "keep": 0.6,
        "model": "mlp",
        "recipe": RECIPE,
        "match_iterations": 0.0,
        "seed": 0,
        "pairs": 3,
        "run": Run(None, {}),
        "engine": ONE,
    }
    return veto("mine", source, candidate, random, **{**usual, **options})


def test_right_labels_hold_against_random_and_wrong_ones_do_not() -> None:
    source, right = half_wrong()
    anything = drawn(source.ids)
    good = tried(drawn(source.ids[right]), anything, source)
    assert good.holds
    bad = tried(drawn(source.ids[~right]), anything, source)
    assert not bad.holds
    assert bad.sentence("accuracy").endswith("; so the subset is random")  # neither had soft targets
    assert bad.certificate()["against"] == "random"
    assert bad.certificate()["holds"] is False
    json.dumps(bad.certificate())


def test_the_same_subset_is_not_ahead_of_itself() -> None:
    source, _ = half_wrong(200)
    same = drawn(source.ids)
    found = tried(same, same, source)
    assert found.differences == (0.0, 0.0, 0.0)  # the same weights, examples and batches
    assert not found.holds


def test_every_pair_holds_out_another_part_and_trains_on_none_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import winnow.pruning.veto as module

    source, _ = half_wrong(200)
    seen: list[tuple[set[int], set[int], set[int]]] = []
    original = module.retrain_all

    def spy(run: Any, engine: Any, protocol: Any, trainings: Any, label: str) -> Any:
        used = set().union(*(set(training.subset.ids.tolist()) for training in trainings))
        seen.append((set(protocol.source.ids.tolist()), set(protocol.tests[0].ids.tolist()), used))
        return original(run, engine, protocol, trainings, label)

    monkeypatch.setattr(module, "retrain_all", spy)
    found = tried(drawn(source.ids), drawn(source.ids), source)
    assert len(seen) == 3
    assert all(not rest & held and used <= rest for rest, held, used in seen)
    assert len({frozenset(held) for _, held, _ in seen}) == 3
    assert found.held_out == sum(len(held) for _, held, _ in seen) == 120


def test_few_pairs_that_disagree_are_read_with_what_is_usual_and_pairs_that_agree_are_not() -> None:
    def holds(*differences: float) -> bool:
        return Veto("mine", differences, 0.9, 0.9, 1.0, 4, 100).holds

    assert holds(-0.02, 0.02, -0.006)  # -0.2 points, give or take 2
    assert not holds(-0.002, -0.0019, -0.0021)
    assert not holds(-0.03, -0.01, -0.02)
    assert holds(0.002, 0.0019, 0.0021)
    assert (holds(-0.004), holds(-0.006)) == (True, False)  # a single pair counts as much as what is usual
    close = Veto("mine", (-0.02, 0.02, -0.006), 0.9, 0.9, 1.0, 4, 100).sentence("accuracy")
    assert close.endswith("(3 pairs of trainings of 4 epochs), too close to turn it down")


@pytest.mark.parametrize(
    ("n", "keep", "match", "expected"),
    [
        (100_000, 0.5, 0.0, (0.05, 3, 5)),  # 3 pairs at half length cost more than one training: no shorter
        (10_000, 0.3, 0.0, (0.2, 3, 6)),
        (10_000, 0.1, 0.0, (0.2, 3, 10)),
        (1_000, 0.1, 0.0, (0.2, 5, 10)),  # small parts: more pairs, as they are cheap here
        (1_000, 0.5, 0.0, (0.2, 3, 5)),
        (1_000, 0.1, 1.0, (0.2, 3, 5)),
    ],
)
def test_trainings_are_as_long_as_one_full_training_pays_for(
    n: int, keep: float, match: float, expected: tuple[float, int, int]
) -> None:
    share, pairs, recipe = extent(n, keep, match, None, wn.Recipe(epochs=10))
    assert (share, pairs, recipe.epochs) == expected


def test_trainings_have_half_the_epochs_and_are_kept(tmp_path) -> None:
    source, right = half_wrong(200)
    arms = drawn(source.ids[right]), drawn(source.ids)
    counting = Counting()
    with Run(tmp_path / "run", {"command": "prune"}) as run:
        first = tried(*arms, source, run=run, engine=counting)
        assert (first.epochs, counting.done) == (4, 6)
        again = tried(*arms, source, run=run, engine=counting)
        assert counting.done == 6
    assert again.differences == first.differences


def test_auto_uses_what_holds_and_says_what_was_tried() -> None:
    source = wn.open("digits", limit=300)
    subset = wn.prune(source, 0.4, model="mlp", recipe=wn.Recipe(epochs=6), engine=ONE)
    about = subset.certificate
    assert len(subset) == 120
    assert subset.targets is not None
    assert subset.targets.ids.tolist() == subset.ids.tolist()
    assert about["soft_weight"] == subset.targets.weight
    assert about["veto"]["candidate"] == "medoids"
    assert about["veto"]["against"] == "random with the same soft targets"
    assert about["method"] == ("medoids" if about["veto"]["holds"] else "random")
    assert about["why"].count("pairs of trainings of 3 epochs") == 1


def test_auto_falls_back_to_random_if_nothing_is_gained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Veto, "holds", property(lambda self: False))
    source = wn.open("digits", limit=300)
    options: dict[str, Any] = {"model": "mlp", "recipe": wn.Recipe(epochs=4), "engine": ONE}
    subset = wn.prune(source, 0.4, **options)
    by_name = wn.prune(source, 0.4, method="random", **options)
    assert subset.ids.tolist() == by_name.ids.tolist()
    assert subset.certificate["method"] == "random"
    assert subset.targets is not None
    assert by_name.targets is None


def test_a_source_of_which_too_little_can_be_held_out_is_not_tried() -> None:
    assert [can_be_tried(rows(n)) for n in (3, 97, 98)] == [False, False, True]  # a fifth is 19.4 or 19.6
    many = wn.open((np.zeros((200, 2)), np.arange(200) % 100))  # more classes than are held out
    assert not can_be_tried(many)
    assert can_be_tried(wn.open((np.zeros((200, 2)), np.arange(200) % FEWEST)))


def test_of_a_small_source_medoids_are_used_untried_and_said_to_be() -> None:
    source, counting = rows(60), Counting()
    options: dict[str, Any] = {"model": "mlp", "recipe": wn.Recipe(epochs=2), "engine": counting}
    subset = wn.prune(source, 0.4, **options)
    assert counting.done == 1
    assert subset.certificate["method"] == "medoids"
    assert subset.certificate["why"].startswith("about 12 examples are kept per class")
    assert subset.certificate["why"].endswith("; too few examples to try it")
    assert subset.certificate["veto"] == {"candidate": "medoids", "pairs": 0, "held_out": 0, "holds": True}
    assert subset.ids.tolist() == wn.prune(source, 0.4, veto=0, **options).ids.tolist()
    assert subset.targets is not None


def test_of_a_small_source_any_other_candidate_falls_back_to_random() -> None:
    source, counting = rows(60, "regression"), Counting()
    options: dict[str, Any] = {"model": "mlp", "recipe": wn.Recipe(epochs=2), "engine": counting}
    subset = wn.prune(source, 0.4, **options)
    assert counting.done == 1
    said = "too few examples to try difficulty+tilted(uniform=0.5); so the subset is random, with soft targets"
    assert (subset.certificate["method"], subset.certificate["why"]) == ("random", said)
    assert subset.certificate["veto"] == Untried("difficulty+tilted(uniform=0.5)", holds=False).certificate()
    assert subset.ids.tolist() == wn.prune(source, 0.4, method="random", **options).ids.tolist()
    assert subset.targets is not None


def test_no_veto_is_one_training_and_a_recorded_one_is_free() -> None:
    source = wn.open("digits", limit=300)
    counting = Counting()
    options: dict[str, Any] = {"model": "mlp", "recipe": wn.Recipe(epochs=4), "veto": 0, "engine": counting}
    subset = wn.prune(source, 0.4, **options)
    assert counting.done == 1
    assert "veto" not in subset.certificate
    signals = wn.observe(source, "mlp", wn.Recipe(epochs=4), want=("dynamics", "predictions", "embeddings"), engine=ONE)
    free = wn.prune(source, 0.4, signals=signals, **options)
    assert counting.done == 1
    assert free.ids.tolist() == subset.ids.tolist()


def test_the_observer_is_the_network_that_is_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    import winnow.pruning.method_inputs as module

    used: list[Any] = []
    original = module.observe

    def spy(source: Any, model: Any, *rest: Any, **more: Any) -> Any:
        used.append(model)
        return original(source, model, *rest, **more)

    monkeypatch.setattr(module, "observe", spy)
    options: dict[str, Any] = {"recipe": wn.Recipe(epochs=4), "veto": 0, "engine": ONE}
    observer = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
    wn.prune(rows(200), 0.4, model="mlp", observer=observer, **options)
    assert used == [observer]


def test_signals_of_other_examples_are_refused() -> None:
    signals = wn.observe(rows(40), "mlp", wn.Recipe(epochs=2), engine=ONE)
    with pytest.raises(wn.errors.WinnowError, match="signals of prune must hold every example"):
        wn.prune(rows(60), 0.5, signals=signals)
    with pytest.raises(wn.errors.WinnowError, match="signals of prune must be Signals"):
        wn.prune(rows(60), 0.5, signals="mine")


def test_one_pair_is_said_in_the_singular() -> None:
    one = Veto("tilted", (0.02,), 0.9, 0.88, 1.0, 1, 100)
    assert "(1 pair of trainings of 1 epoch)" in one.sentence("accuracy")
    assert "(2 pairs of fits)" in dataclasses.replace(one, differences=(0.02, 0.02), epochs=0).sentence("accuracy")
