from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from winnow.artefacts import Source, Study, Subset
from winnow.artefacts.ledger import ledger
from winnow.core.run import Run
from winnow.engines import Local
from winnow.evaluation.evaluate import evaluate
from winnow.training import Feed, Recipe

from .blobs import QUICK, blobs, line, shuffled, table, tiny, tiny_line

SOURCE, TEST = blobs(240), blobs(120, seed=1, prefix="t")
HALF = Subset(SOURCE.ids[:120])
THIRD = Subset(SOURCE.ids[::3][:80], certificate={"worst": math.nan, "sizes": np.arange(2)})


@dataclass
class Watched:
    """The engine of this process, with a list of what it trained, that may be killed after a while."""

    fail_after: int | None = None
    trained: list[tuple[str, int]] = field(default_factory=list)

    def map(
        self, function: Callable[..., Any], items: Sequence[Any], *, shared: Sequence[Any] = (), needs: Any = None
    ) -> Iterator[tuple[int, Any, float]]:
        for index, item in enumerate(items):
            if self.fail_after == index:
                raise KeyboardInterrupt
            training = item.item
            self.trained.append((training.arm, training.seed))
            found = Local(workers=1).map(function, [item], shared=shared)
            yield from ((index, made, seconds) for _, made, seconds in found)


def study_of(subsets: Any, **options: Any) -> Study:
    usual: dict[str, Any] = {
        "test": TEST,
        "model": tiny,
        "recipe": QUICK,
        "seeds": 2,
        "same_steps": False,
        "engine": Watched(),
    }
    return evaluate(options.pop("source", SOURCE), subsets, **{**usual, **options})


def timeless(study: Study) -> Any:
    return study.arms, tuple(replace(o, seconds=0.0) for o in study.outcomes), study.tests, dict(study.provenance)


def test_a_study_has_full_random_and_the_subsets() -> None:
    study = study_of({"mine": HALF, "other": THIRD})
    assert [(arm.name, arm.kind, arm.size, arm.baseline) for arm in study.arms] == [
        ("full", "full", 240, None),
        ("random@0.5", "random", 120, None),
        ("random@0.333", "random", 80, None),
        ("mine", "subset", 120, "random@0.5"),
        ("other", "subset", 80, "random@0.333"),
    ]
    assert len(study.outcomes) == 5 * 2
    assert study.metric == "accuracy"
    assert study.interval("full").centre > 0.75
    assert all(np.isfinite([o.value, o.loss, *o.per_class]).all() for o in study.outcomes)
    assert study.arm("mine").class_balance == 1.0
    assert 0 < (study.arm("random@0.5").class_balance or 0) < 1
    assert study.arm("other").certificate == {"worst": None, "sizes": [0, 1]}
    assert len(study.table()) == 5


def test_per_class_accuracies_average_to_the_accuracy() -> None:
    study = study_of({}, seeds=1)
    outcome = study.outcomes[0]
    assert np.mean(outcome.per_class) == pytest.approx(outcome.value)  # classes of equal size


def test_random_and_full_can_be_left_out() -> None:
    assert [arm.name for arm in study_of({"mine": HALF}, random=False, full=False, seeds=1).arms] == ["mine"]
    assert [arm.name for arm in study_of({}, seeds=1).arms] == ["full"]


def test_arms_of_a_seed_start_from_the_same_weights_and_seeds_from_others(monkeypatch: pytest.MonkeyPatch) -> None:
    from winnow.evaluation import retrain as trainings

    started: dict[int, set[bytes]] = {}
    real = trainings.train

    def spy(model: torch.nn.Module, feed: Feed, recipe: Recipe, seed: int, **options: Any) -> Any:
        weights = b"".join(p.detach().numpy().tobytes() for p in model.parameters())
        started.setdefault(seed, set()).add(weights)
        return real(model, feed, recipe, seed, **options)

    monkeypatch.setattr(trainings, "train", spy)
    study_of({"mine": HALF})
    assert [len(found) for found in started.values()] == [1, 1]
    assert len(set.union(*started.values())) == 2


def test_a_subset_of_everything_trains_as_full_does() -> None:
    study = study_of({"all": Subset(SOURCE.ids)})
    assert study.arm("all").baseline == "full"
    assert study.versus("all", "full").centre == 0
    assert [o.loss for o in study.of("all").values()] == [o.loss for o in study.of("full").values()]


def test_the_order_of_the_source_and_of_the_test_changes_nothing() -> None:
    ours = study_of({"mine": HALF}, seeds=1)
    theirs = study_of({"mine": HALF}, seeds=1, source=shuffled(SOURCE), test=shuffled(TEST))
    assert timeless(ours) == timeless(theirs)


def test_one_worker_and_two_give_the_same_study() -> None:
    one, two = (study_of({"mine": HALF}, seeds=1, engine=Local(workers=n)) for n in (1, 2))
    assert timeless(one) == timeless(two)


def test_networks_that_draw_by_themselves_are_seeded() -> None:
    def with_dropout() -> torch.nn.Module:
        return torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 3))

    torch.manual_seed(5)
    ours = study_of({}, model=with_dropout, seeds=1)
    torch.manual_seed(6)
    assert timeless(ours) == timeless(study_of({}, model=with_dropout, seeds=1))


def test_random_is_drawn_anew_for_each_seed_at_the_size_of_the_subset(monkeypatch: pytest.MonkeyPatch) -> None:
    from winnow.evaluation import evaluate as evaluating

    drawn: dict[int, list[str]] = {}
    real = evaluating.retrain_all

    def spy(run: Any, engine: Any, protocol: Any, trainings: Any, label: str) -> Any:
        drawn.update({t.seed: t.subset.ids.tolist() for t in trainings if t.arm.startswith("random")})
        return real(run, engine, protocol, trainings, label)

    monkeypatch.setattr(evaluating, "retrain_all", spy)
    study = study_of({"mine": HALF}, match_iterations=0.5)
    assert [len(set(ids)) for ids in drawn.values()] == [120, 120]
    assert drawn[0] != drawn[1]
    steps = {arm: {o.iterations for o in study.of(arm).values()} for arm in ("random@0.5", "mine")}
    assert steps["random@0.5"] == steps["mine"] == {24}


@pytest.mark.parametrize(("factor", "steps"), [(0.0, 16), (0.5, 24), (1.0, 32)])
def test_iterations_are_matched_as_asked_and_written_down(factor: float, steps: int) -> None:
    study = study_of({"mine": HALF}, match_iterations=factor, seeds=1, random=False)
    assert study.of("mine")[0].iterations == steps
    assert study.of("full")[0].iterations == 32
    assert study.match_iterations == factor
    assert study.provenance["parameters"]["steps"] == {"full": 32, "mine": steps}


def test_sizes_that_round_alike_are_named_by_their_count() -> None:
    big = blobs(3000)
    subsets = {"a": Subset(big.ids[:1200]), "b": Subset(big.ids[:1201]), "c": Subset(big.ids[:300])}
    quick = Recipe(epochs=1, batch=1024)
    names = [arm.name for arm in study_of(subsets, source=big, recipe=quick, seeds=1, full=False).arms]
    assert names == ["random@1201", "random@1200", "random@0.1", "a", "b", "c"]


def test_one_subset_a_seed() -> None:
    other = Subset(SOURCE.ids[120:])
    listed = study_of({"drawn": [HALF, other]}, random=False, full=False)
    mapped = study_of({"drawn": {0: HALF, 1: other, 7: THIRD}}, random=False, full=False)
    alone = study_of({"drawn": other}, random=False, full=False, seeds=[1])
    assert listed.outcomes[0].loss == mapped.outcomes[0].loss
    assert listed.of("drawn")[1].loss == alone.of("drawn")[1].loss


def test_weights_follow_their_examples() -> None:
    """Two sources: one in which the heavy examples say c0, one in which they say c1, all else equal."""
    rng = np.random.default_rng(0)
    x = np.repeat(rng.standard_normal((20, 2)), 2, axis=0)
    y = np.tile([0, 1], 20)  # every point under both labels
    source = shuffled(table(x, y, classes=2))
    test = table(x[::2], np.zeros(20, dtype=int), classes=2, prefix="t")
    assert source.labels is not None

    def share_of_first(heavy: int) -> float:
        weights = np.where(source.labels == heavy, 50.0, 1.0)
        study = evaluate(
            source,
            {"w": Subset(source.ids, weights)},
            test=test,
            recipe=Recipe(epochs=60, lr=0.1),
            model=lambda: torch.nn.Linear(2, 2),
            seeds=1,
            random=False,
            full=False,
            engine=Watched(),
        )
        return study.outcomes[0].value

    for heavy, share in ((0, 1.0), (1, 0.0)):
        with pytest.warns(UserWarning, match="20 of the 20 examples of test set 'test' are also in the training data"):
            assert share_of_first(heavy) == share


def test_a_test_set_that_lacks_a_class_is_numbered_like_the_training_data() -> None:
    assert TEST.labels is not None
    rest = TEST.at(np.flatnonzero(TEST.labels != 0))
    assert rest.labels is not None
    renumbered = replace(rest, labels=2 - rest.labels, classes=("c2", "c1"))
    ours = study_of({}, test={"whole": TEST, "rest": renumbered}, seeds=1)
    whole, part = ours.outcomes
    assert math.isnan(part.per_class[0])
    assert part.per_class[1:] == whole.per_class[1:]
    assert part.value == pytest.approx(np.mean(whole.per_class[1:]))


def test_extra_test_sets_share_the_training_and_the_first_one_is_the_claim() -> None:
    engine = Watched()
    moved = replace(TEST, read=lambda where: TEST.read(where) + np.float32(3), make_ids=TEST.ids)
    study = study_of({"mine": HALF}, test={"same": TEST, "moved": moved}, engine=engine)
    assert len(engine.trained) == 3 * 2
    assert study.tests == ("same", "moved")
    assert study.interval("mine").centre == study.interval("mine", "same").centre
    assert study.interval("mine", "moved").centre < study.interval("mine", "same").centre


def test_examples_in_both_training_and_test_data_are_counted() -> None:
    with pytest.warns(UserWarning, match="30 of the 30 examples of test set 'seen' are also in the training data"):
        both = study_of({}, test={"seen": SOURCE.at(np.arange(30)), "new": TEST}, seeds=1)
    assert both.provenance["parameters"]["overlap"] == {"seen": 30, "new": 0}


def test_regression_is_measured_in_r2_and_original_units() -> None:
    source, test = line(200), line(100, seed=1, prefix="t")
    study = study_of(
        {"half": Subset(source.ids[:100])},
        source=source,
        test=test,
        model=tiny_line,
        recipe=Recipe(epochs=30, batch=16, lr=0.05),
        seeds=1,
    )
    outcome = study.of("full")[0]
    assert study.metric == "r2"
    assert outcome.per_class == ()
    assert test.labels is not None
    assert outcome.value == pytest.approx(1 - outcome.loss / test.labels.var(), abs=1e-9)
    assert outcome.value > 0.95
    assert outcome.loss > 0.5  # the noise alone is one squared unit
    assert study.arm("half").class_balance is None


def test_repeating_a_saved_study_trains_nothing(tmp_path: Path) -> None:
    first = study_of({"mine": HALF}, out=tmp_path / "run")
    again = Watched()
    second = study_of({"mine": HALF}, out=tmp_path / "run", engine=again)
    assert again.trained == []
    assert (second.arms, second.outcomes, dict(second.provenance)) == (
        first.arms,
        first.outcomes,
        dict(first.provenance),
    )
    loaded = Study.load(tmp_path / "run/study")
    assert (loaded.arms, loaded.outcomes, loaded.provenance) == (first.arms, first.outcomes, first.provenance)


def test_only_what_is_missing_is_trained(tmp_path: Path) -> None:
    out = tmp_path / "run"
    study_of({"mine": HALF}, out=out)
    added = {
        "a seed": ({"mine": HALF}, {"seeds": 3}, [("full", 2), ("random@0.5", 2), ("mine", 2)]),
        "a subset of the same size": (
            {"mine": HALF, "b/ad name": Subset(SOURCE.ids[120:])},
            {},
            [("b/ad name", 0), ("b/ad name", 1)],
        ),
        "another size": ({"mine": HALF, "third": THIRD}, {"seeds": 1}, [("random@0.333", 0), ("third", 0)]),
        "another match": ({"mine": HALF}, {"match_iterations": 1.0, "seeds": 1}, [("random@0.5", 0), ("mine", 0)]),
    }
    for what, (subsets, options, expected) in added.items():
        engine = Watched()
        study_of(subsets, out=out, engine=engine, **options)
        assert engine.trained == expected, what


@pytest.mark.parametrize(
    "changed", [{"recipe": replace(QUICK, lr=0.01)}, {"model": "mlp"}, {"seed": 1}, {"test": TEST.at(np.arange(50))}]
)
def test_what_the_result_depends_on_is_trained_again(tmp_path: Path, changed: dict[str, Any]) -> None:
    study_of({}, out=tmp_path / "run", seeds=1)
    engine = Watched()
    study_of({}, out=tmp_path / "run", seeds=1, engine=engine, **changed)
    assert engine.trained == [("full", 0)]


def test_a_changed_subset_under_an_old_name_is_trained_again(tmp_path: Path) -> None:
    study_of({"mine": HALF}, out=tmp_path / "run", seeds=1)
    engine = Watched()
    study_of({"mine": Subset(HALF.ids, np.linspace(1, 2, 120))}, out=tmp_path / "run", seeds=1, engine=engine)
    assert engine.trained == [("mine", 0)]


@pytest.mark.parametrize("moment", [0, 1, 4])
def test_a_killed_study_goes_on_to_the_same_result(tmp_path: Path, moment: int) -> None:
    whole = study_of({"mine": HALF})
    with pytest.raises(KeyboardInterrupt):
        study_of({"mine": HALF}, out=tmp_path / "run", engine=Watched(fail_after=moment))
    assert not (tmp_path / "run/study/study.json").exists()
    rest = Watched()
    resumed = study_of({"mine": HALF}, out=tmp_path / "run", engine=rest)
    assert len(rest.trained) == 6 - moment
    assert timeless(resumed) == timeless(whole)


def test_names_unfit_for_files_are_kept_apart(tmp_path: Path) -> None:
    names = ["../up", "a/b", "a b", "a_b", "A_b", "ünï", ".", "x" * 300]
    study = study_of(dict.fromkeys(names, HALF), out=tmp_path / "run", seeds=1, full=False, random=False)
    files = sorted((tmp_path / "run/study/trainings").rglob("*.json"))
    assert len({str(path).lower() for path in files}) == len(names)
    assert [arm.name for arm in study.arms] == names
    assert {path.name for path in tmp_path.iterdir()} == {"run"}


def test_an_open_run_is_used_as_it_is(tmp_path: Path) -> None:
    with Run(tmp_path / "run", {"command": "prune"}) as run:
        study_of({}, out=run, seeds=1)
        assert run.seconds("study/trainings/full") > 0
    assert (tmp_path / "run/study/study.json").exists()
    assert '"prune"' in (tmp_path / "run/run.json").read_text()


def test_without_a_directory_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    study_of({}, seeds=1)
    assert list(tmp_path.iterdir()) == []


def test_a_users_own_module_is_started_afresh_for_each_seed() -> None:
    study = study_of({}, model=tiny())
    first, second = study.of("full").values()
    assert first.loss != second.loss
    assert study.provenance["parameters"]["model"]["module"] == "Sequential"


def test_costs_reach_the_ledger() -> None:
    study = study_of({"mine": HALF, "free": THIRD}, costs={"mine": {"observe": 5.0, "select": 1}}, seeds=1)
    rows = {row["arm"]: row for row in ledger(study)}
    assert rows["mine"]["selection_s"] == 6.0
    assert rows["mine"]["score_s"] == 0.0
    assert math.isnan(rows["free"]["selection_s"])
    assert rows["mine"]["net_after_one_s"] == pytest.approx(study.seconds("full") - study.seconds("mine") - 6.0)


def test_what_does_not_fit_memory_is_read_lazily_to_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    held = study_of({"mine": HALF}, seeds=1)
    monkeypatch.setattr("winnow.evaluation.retrain.hold", lambda source, *_: source)
    monkeypatch.setattr("winnow.training.feed.hold", lambda source, *_: source)
    assert timeless(study_of({"mine": HALF}, seeds=1)) == timeless(held)


def test_a_finished_study_is_loaded_without_reading_an_example(tmp_path: Path) -> None:
    study_of({"mine": HALF}, out=tmp_path / "run")

    def read(where: Any) -> Any:
        raise AssertionError("read an example")

    def silent(source: Source) -> Source:
        return replace(source, read=read, make_ids=source.ids)

    assert len(study_of({"mine": HALF}, out=tmp_path / "run", source=silent(SOURCE), test=silent(TEST)).outcomes) == 6
