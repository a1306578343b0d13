"""wn.check from end to end: what was planted is found, and nothing is trained that need not be."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import winnow as wn
from tests.checking.small import images, named
from tests.signals.small import Counting
from winnow.checking.duplicates import duplicates
from winnow.checking.examination import judge
from winnow.core.errors import InputError, WinnowError
from winnow.engines import Local

ONE = Local(workers=1)
SHORT = wn.Recipe(epochs=8, batch=8)
WRONG = list(range(10, 25))


class Refusing:
    """An engine that fails if it is asked to train."""

    threads = 1

    def map(self, function: Any, items: Any, *, shared: Any = (), needs: Any = None) -> Any:
        raise AssertionError("something was trained")


@pytest.fixture(scope="module")
def planted() -> tuple[wn.Source, wn.Source]:
    """Digits: 15 wrong labels, a copy of example 40, an empty image (last), and example 50 again in the test data."""
    base = wn.open("digits", limit=300)
    x, y = base.read(np.arange(300)), np.asarray(base.labels).copy()
    y[WRONG] = (y[WRONG] + 3) % 10
    x = np.concatenate([x, x[40:41], np.zeros_like(x[:1])])
    y = np.concatenate([y, y[40:41], [0]])
    other = wn.open("digits", split="test").at(np.arange(60))
    test_x = np.concatenate([other.read(np.arange(60)), x[50:51]])
    test = named(test_x, np.concatenate([np.asarray(other.labels), y[50:51]]), prefix="t")
    return named(x, y), test


@pytest.fixture(scope="module")
def found(planted, tmp_path_factory) -> tuple[wn.Issues, Path]:
    source, test = planted
    out = tmp_path_factory.mktemp("check")
    return wn.check(source, test, model="mlp", recipe=SHORT, folds=3, out=out, engine=ONE), out


def ids_of(issues: wn.Issues, kind: str) -> set[str]:
    return set(issues.ids[(issues.kinds == kind) & issues.flagged].tolist())


def test_what_was_planted_is_found(found) -> None:
    issues, _ = found
    wrong = {f"e{place:05d}" for place in WRONG}
    ranked = issues.of("label")
    assert len(ranked["id"]) == issues.examples == 302
    assert len(wrong & set(ranked["id"][:20].tolist())) >= 13
    assert len(ids_of(issues, "label") & wrong) >= 10
    assert "e00300" in ids_of(issues, "duplicate")
    assert "e00301" in set(issues.ids[issues.kinds == "value"].tolist())
    assert {"e00050"} <= ids_of(issues, "leak")
    assert issues.noise_rate is not None
    assert issues.noise_rate.low < 15 / 302 < issues.noise_rate.high


def test_what_is_left_can_be_trained_on(planted, found) -> None:
    kept = set(found[0].clean().ids.tolist())
    assert kept < set(planted[0].ids.tolist())
    assert not kept & {"e00050", "e00301"}
    assert len(kept & {"e00040", "e00300"}) == 1


def test_three_files_are_written_and_a_second_run_reads_them(planted, found) -> None:
    source, test = planted
    issues, out = found
    assert {"issues.parquet", "issues.csv", "check.html"} <= {file.name for file in out.iterdir()}
    again = wn.check(source, test, model="mlp", recipe=SHORT, folds=3, out=out, engine=Refusing())
    assert np.array_equal(again.probabilities, issues.probabilities)
    assert wn.Issues.load(out / "issues.parquet").counts() == issues.counts()


@pytest.mark.parametrize("name", ["issues.csv", "check.html"])
@pytest.mark.parametrize("damage", ["flip", "cut", "gone"])
def test_a_damaged_page_is_noticed_and_written_again_without_training(
    planted, found, name: str, damage: str, tmp_path: Path
) -> None:
    source, test = planted
    out = found[1]
    run = shutil.copytree(out, tmp_path / "run")
    whole = (run / name).read_bytes()
    if damage == "gone":
        (run / name).unlink()
    else:
        at = len(whole) // 2
        (run / name).write_bytes(whole[:at] + (b"" if damage == "cut" else bytes([whole[at] ^ 1]) + whole[at + 1 :]))
    with pytest.warns(UserWarning, match=f"{name} .*the step check/pages is made again"):
        wn.check(source, test, model="mlp", recipe=SHORT, folds=3, out=run, engine=Refusing())
    assert (run / name).read_bytes() == whole
    assert (run / "issues.parquet").read_bytes() == (out / "issues.parquet").read_bytes()


def test_a_killed_check_goes_on(planted, tmp_path: Path) -> None:
    source, _ = planted
    how: dict[str, Any] = {"model": "mlp", "recipe": wn.Recipe(epochs=1), "kinds": "label", "folds": 3, "out": tmp_path}
    with pytest.raises(KeyboardInterrupt):
        wn.check(source, engine=Counting(killed_after=2), **how)
    again = Counting()
    wn.check(source, engine=again, **how)
    assert again.done == 1


def test_signals_that_are_given_need_no_training(planted) -> None:
    source, _ = planted
    seen = wn.observe(source, "mlp", SHORT, want="oof", folds=3, engine=ONE)
    issues = wn.check(source, signals=seen, kinds="label", engine=Refusing())
    assert len(ids_of(issues, "label") & {f"e{place:05d}" for place in WRONG}) >= 9  # of 15
    free = wn.observe(source, "mlp", SHORT, want=("dynamics", "predictions"), engine=ONE)
    assert wn.check(source, signals=free, kinds="label", engine=Refusing()).examples == 302


def test_observing_by_hand_gives_what_check_gives(planted) -> None:
    source, _ = planted
    short = wn.Recipe(epochs=2, batch=32)
    whole = wn.check(source, model="mlp", recipe=short, folds=3, kinds="label", engine=ONE)
    groups = duplicates(source).group
    seen = wn.observe(source, "mlp", short, want="oof", folds=3, groups=groups, engine=ONE)
    again = wn.check(source, signals=seen, kinds="label", engine=Refusing())
    assert np.allclose(again.probabilities, whole.probabilities, atol=1e-6)


def test_the_order_of_the_source_changes_nothing(planted) -> None:
    source, _ = planted
    mixed = source.at(np.random.default_rng(0).permutation(len(source)))
    how: dict[str, Any] = {
        "model": "mlp",
        "recipe": wn.Recipe(epochs=2, batch=32),
        "folds": 3,
        "kinds": ("label", "duplicate"),
    }
    first, second = (wn.check(one, engine=ONE, **how).of("label") for one in (source, mixed))
    sure = dict(zip(first["id"].tolist(), first["probability"].tolist(), strict=True))
    assert [sure[one] for one in second["id"].tolist()] == pytest.approx(second["probability"].tolist(), abs=1e-9)


def test_with_embeddings_a_linear_head_is_trained(planted) -> None:
    source, _ = planted
    rows = source.read(np.arange(len(source))).reshape(len(source), -1).astype(np.float32)
    rows += 0.01 * np.random.default_rng(0).normal(size=rows.shape).astype(np.float32)
    engine = Counting()
    issues = wn.check(
        source,
        embeddings=rows,
        recipe=wn.Recipe(epochs=20, batch=8),
        folds=3,
        kinds=("label", "outlier"),
        engine=engine,
    )
    assert engine.done == 3
    wrong = {f"e{place:05d}" for place in WRONG}
    assert len(wrong & set(issues.of("label")["id"][:20].tolist())) >= 12


def test_an_estimator_judges_labels_too(planted) -> None:
    issues = wn.check(planted[0], model=LogisticRegression(max_iter=200, C=0.1), folds=3, kinds="label", engine=ONE)
    assert len({f"e{place:05d}" for place in WRONG} & set(issues.of("label")["id"][:20].tolist())) >= 12


def test_unlabelled_data_have_a_row_per_example() -> None:
    x = images(60)
    source = named(np.concatenate([x, x[:1], np.zeros_like(x[:1])]))
    issues = wn.check(source, engine=Refusing())
    assert issues.task == "unlabelled"
    assert issues.examples == 62
    assert issues.noise_rate is None
    surest = issues.of("example")["id"][:3].tolist()
    assert {"e00060", "e00061"} <= set(surest)
    assert len(issues.clean()) == 60


def test_wrong_targets_of_a_regression() -> None:
    draw = np.random.default_rng(0)
    x = draw.normal(size=(150, 3)).astype(np.float32)
    y = 30 + 5 * x[:, 0] + 0.5 * draw.normal(size=150)
    y[:4] += 60
    issues = wn.check(named(x, y), model="linear", recipe=wn.Recipe(epochs=30, batch=16, lr=0.05), folds=3, engine=ONE)
    assert issues.task == "regression"
    assert set(issues.of("target")["id"][:4].tolist()) == {f"e{place:05d}" for place in range(4)}
    assert {f"e{place:05d}" for place in range(4)} <= ids_of(issues, "target")


def test_marks_are_kept_and_the_rest_is_estimated_again(planted) -> None:
    source, _ = planted
    seen = wn.observe(source, "mlp", SHORT, want="oof", folds=3, engine=ONE)

    def looked(marks: Any = None) -> wn.Issues:
        return wn.check(source, signals=seen, kinds="label", marks=marks, engine=Refusing())

    first = looked()
    top = first.of("label")["id"][:8].tolist()
    second = looked(dict.fromkeys(top, "refused"))
    assert second.marks() == dict.fromkeys(top, "refused")
    assert not set(top) & ids_of(second, "label")
    rest = ~np.isin(first.ids, top) & (first.kinds == "label")
    before = dict(zip(first.ids[rest].tolist(), first.probabilities[rest].tolist(), strict=True))
    now = second.of("label")
    after = {one: p for one, p in zip(now["id"].tolist(), now["probability"].tolist(), strict=True) if one in before}
    likely = [one for one in before if before[one] > 0.2]
    assert likely
    assert all(after[one] < before[one] for one in likely)
    assert looked(second).marks() == second.marks()


@pytest.mark.parametrize(
    ("kinds", "words"),
    [("leak", "leak needs test data"), ("drift", "drift needs test data"), ("column", "column needs a table")],
)
def test_kinds_that_do_not_apply_are_refused(planted, kinds: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        wn.check(planted[0], kinds=kinds, engine=Refusing())


def test_labels_are_not_judged_where_there_are_none(planted) -> None:
    source, _ = planted
    with pytest.raises(InputError, match="label needs labels of several classes"):
        wn.check(source.read(np.arange(30)), kinds="label", engine=Refusing())
    with pytest.raises(WinnowError, match="kinds"):
        wn.check(source, kinds="nonsense", engine=Refusing())


def test_conflicting_near_duplicates_are_a_label_issue() -> None:
    x, y = images(90), np.arange(90) % 3
    source = named(np.concatenate([x, x[:1], x[:1]]), np.concatenate([y, [y[0]], [(y[0] + 1) % 3]]))
    seen = wn.observe(source, "mlp", wn.Recipe(epochs=1), want="oof", folds=2, engine=ONE)
    issues = wn.check(source, signals=seen, kinds=("label", "duplicate"), engine=Refusing())
    assert "e00091" in ids_of(issues, "label")
    kept = set(issues.clean().ids.tolist())
    assert "e00091" not in kept
    assert len(kept & {"e00000", "e00090"}) == 1


def test_one_example_too_many_in_the_signals_is_no_matter_and_one_too_few_is_refused(planted) -> None:
    source, _ = planted
    seen = wn.observe(source, "mlp", wn.Recipe(epochs=1), want="oof", folds=2, engine=ONE)
    assert wn.check(source.at(np.arange(100)), signals=seen, kinds="label", engine=Refusing()).examples == 100
    with pytest.raises(InputError):
        wn.check(source, signals=seen.at(np.arange(100)), kinds="label", engine=Refusing())


def test_fewer_groups_than_folds_still_work() -> None:
    x = images(8)
    source = named(np.concatenate([x, x]), np.tile(np.arange(8) % 2, 2))
    issues = wn.check(source, model="mlp", recipe=wn.Recipe(epochs=1), folds=5, kinds="label", engine=ONE)
    assert issues.examples == 16


@pytest.mark.parametrize(
    ("model", "side", "judged_by"),
    [
        ("auto", 16, "convnet:width=16"),  # a third of the cost of what auto usually stands for
        ("auto", 8, "auto"),
        ("convnet", 16, "convnet"),
        ("resnet20", 16, "resnet20"),
    ],
)
def test_large_images_are_judged_by_a_narrow_network_unless_one_is_named(model: str, side: int, judged_by: str) -> None:
    x = np.random.default_rng(0).integers(0, 255, (4, 3, side, side)).astype(np.uint8)
    assert judge(wn.open((x, np.array([0, 1, 0, 1]))), model) == judged_by


def test_an_open_encoder_is_asked_beside_the_networks_unless_it_is_not_wanted(tmp_path: Path) -> None:
    x, y = images(60), np.arange(60) % 3
    x[y == 1, :, :12], x[y == 2, :, :, :12] = 0, 255  # dark above, bright at the left
    y[:4] = (y[:4] + 1) % 3
    how = {"kinds": ("label",), "model": "mlp", "recipe": SHORT, "folds": 3, "engine": ONE}
    asked = wn.check(named(x, y), out=tmp_path / "with", **how)
    alone = wn.check(named(x, y), out=tmp_path / "without", embeddings="none", **how)
    assert (tmp_path / "with" / "check" / "encoder").exists()
    assert not (tmp_path / "without" / "check" / "encoder").exists()
    probabilities = [one.of("label")["probability"] for one in (asked, alone)]
    assert not np.array_equal(*probabilities)
    first = {f"e{place:05d}" for place in range(4)}
    assert first == set(asked.of("label")["id"][:4].tolist())
    again = wn.check(named(x, y), out=tmp_path / "with", **{**how, "engine": Refusing()})
    assert np.array_equal(again.of("label")["probability"], probabilities[0])


def test_an_encoder_that_goes_away_makes_the_check_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = images(60), np.arange(60) % 3
    how = {"kinds": ("label",), "model": "mlp", "recipe": SHORT, "folds": 3, "engine": ONE, "out": tmp_path / "run"}
    asked = wn.check(named(x, y), **how)
    monkeypatch.setattr("winnow.checking.examination.open_encoder", lambda kind, shape: None)
    alone = wn.check(named(x, y), **{**how, "engine": Refusing()})  # the trainings serve again
    assert not np.array_equal(asked.of("label")["probability"], alone.of("label")["probability"])
