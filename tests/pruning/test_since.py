"""New data arrive: what a pruning that goes on from an earlier run keeps, records, decides and says."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import winnow as wn
from winnow.core.errors import InputError, NotDefinedError, NotFoundError, StoreError
from winnow.training import loop

RECIPE = wn.Recipe(epochs=4, batch=16)
HOW: dict[str, Any] = {"model": "mlp", "recipe": RECIPE, "engine": wn.Local(workers=1)}
OLD, ALL = 160, 200

pytestmark = pytest.mark.filterwarnings("ignore:score .* is unreliable here")


def data(n: int = ALL, task: str = "classification") -> wn.Source:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ALL, 4)).astype(np.float32)
    y = (x[:, 0] + 0.3 * rng.normal(size=ALL) > 0).astype(int) if task == "classification" else x[:, 0] + 0.1 * x[:, 1]
    return wn.open((x[:n], y[:n]), ids=[f"row {k:03}" for k in range(n)])


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "base"
    wn.prune(data(OLD), 0.5, out=path, seeds=2, **HOW)
    return path


def signals(run: Path, number: int = 0) -> wn.Signals:
    return wn.Signals.load(run / "signals" / f"seed-{number}.safetensors")


def test_old_examples_keep_their_signals_and_new_ones_are_recorded(base: Path, tmp_path: Path) -> None:
    subset = wn.prune(data(), 0.5, base=base, out=tmp_path / "next", seeds=2, **HOW)
    before, after = signals(base, 1), signals(tmp_path / "next", 1)
    assert len(after) == ALL
    assert after.epochs == (2, 3, 4)  # from the checkpoint on
    same = after.take(before.ids)
    assert (same.array("predictions") == before.array("predictions")).all()
    assert (same.array("margins") == before.array("margins")[:, 1:]).all()
    new = after.take([f"row {k}" for k in range(OLD, ALL)])
    assert np.allclose(new.array("predictions").sum(axis=2), 1, atol=1e-5)
    right = (new.array("predictions")[0].argmax(axis=1) == np.asarray(new.labels)).mean()
    assert right > 0.7  # the network knows something about examples it was shown late
    since = subset.certificate["since"]
    assert since["counts"]["new"] == since["observed"] == ALL - OLD
    assert since["counts"]["entered"] - since["counts"]["left"] == len(subset) - OLD // 2
    assert since["said"].startswith("since base: 40 new examples, 0 changed, 0 removed; ")
    rows = list(csv.DictReader((tmp_path / "next" / "changes.csv").read_text().splitlines()))
    assert [row["id"] for row in rows if row["change"] == "new"] == [f"row {k}" for k in range(OLD, ALL)]
    assert {row["change"] for row in rows} <= {"entered", "left", "new"}


def test_only_the_continuation_is_trained_and_the_trial_is_taken_over(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[int] = []
    real = loop._train

    def counted(*arguments: Any) -> Any:
        done = real(*arguments)
        steps.append(done.steps)
        return done

    monkeypatch.setattr(loop, "_train", counted)
    subset = wn.prune(data(), 0.5, base=base, seeds=2, **HOW)
    share = 2 * (ALL - OLD)  # the new ones and as many old ones
    before = wn.Subset.load(base / "subset.parquet").certificate["veto"]
    assert steps == [3 * RECIPE.batches(share)] * 2
    assert subset.certificate["since"]["trial"] == "base"
    assert subset.certificate["veto"] == {**before, "from_base": True, "new_share": 0.2}
    held = "held" if before["holds"] else "did not hold"
    assert f"{held} in the base run, and 20 % of the examples are new" in subset.certificate["why"]
    assert (subset.certificate["method"] == "random") is not before["holds"]
    wn.prune(data(), 0.5, base=base, seeds=2, veto=1, **HOW)
    assert len(steps) >= 4  # a trial that is asked for is made


def test_the_learning_rate_goes_on_from_where_the_checkpoint_was(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, int]] = []
    real = wn.Recipe.rate

    def watched(recipe: wn.Recipe, step: int, steps: int) -> float:
        seen.append((step, steps))
        return real(recipe, step, steps)

    monkeypatch.setattr(wn.Recipe, "rate", watched)
    wn.prune(data(), 0.5, base=base, seeds=2, **HOW)
    batches = RECIPE.batches(2 * (ALL - OLD))
    assert seen[0] == (batches, 4 * batches)
    assert max(step for step, _ in seen) == 4 * batches - 1


def test_the_same_answer_twice_in_any_order_and_resumed(base: Path, tmp_path: Path) -> None:
    first = wn.prune(data(), 0.5, base=base, out=tmp_path / "a", seeds=2, **HOW)
    shuffled = data().at(np.random.default_rng(1).permutation(ALL))
    second = wn.prune(shuffled, 0.5, base=base, seeds=2, **HOW)
    again = wn.prune(data(), 0.5, base=base, out=tmp_path / "a", seeds=2, **HOW)
    assert first.fingerprint == second.fingerprint == again.fingerprint


def test_removed_examples_go_and_changed_ones_are_observed_again(base: Path, tmp_path: Path) -> None:
    x, y = data().read(np.arange(ALL)).copy(), np.asarray(data().labels).copy()
    y[3] = 1 - y[3]
    x[5] += 1
    now = wn.open((x[:-10][2:], y[:-10][2:]), ids=[f"row {k:03}" for k in range(2, ALL - 10)])
    subset = wn.prune(now, 0.5, base=base, seeds=2, **HOW)
    since = subset.certificate["since"]
    assert since["counts"]["new"] == ALL - OLD - 10
    assert since["ids"]["changed"] == ["row 003", "row 005"]
    assert since["ids"]["removed"] == ["row 000", "row 001"]
    assert not set(subset.ids) & {"row 000", "row 001"}


def test_nothing_new_trains_nothing(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "_train", None)
    subset = wn.prune(data(OLD), 0.4, base=base, seeds=2, **{**HOW, "veto": 0})
    assert len(subset) == round(0.4 * OLD)
    assert subset.certificate["since"]["counts"]["new"] == 0


def test_a_continued_run_is_a_base_in_turn(base: Path, tmp_path: Path) -> None:
    wn.prune(data(180), 0.5, base=base, out=tmp_path / "second", seeds=2, **HOW)
    third = wn.prune(data(), 0.5, base=tmp_path / "second", out=tmp_path / "third", seeds=2, **HOW)
    assert third.certificate["since"]["counts"]["new"] == 20
    assert (
        signals(tmp_path / "third").take(signals(base).ids).array("predictions") == signals(base).array("predictions")
    ).all()


@pytest.mark.parametrize("method", ["auto", "el2n", "medoids"])
def test_methods_that_read_epochs_and_embeddings(method: str, tmp_path: Path) -> None:
    options = {"veto": 0} if method == "auto" else {}
    wn.prune(data(OLD), 0.3, method=method, out=tmp_path / "base", **options, **HOW)
    subset = wn.prune(data(), 0.3, method=method, base=tmp_path / "base", **options, **HOW)
    assert len(subset) == round(0.3 * ALL)


def test_regression(tmp_path: Path) -> None:
    source = data(task="regression")
    wn.prune(source.at(np.arange(OLD)), 0.5, out=tmp_path / "base", veto=0, **HOW)
    subset = wn.prune(source, 0.5, base=tmp_path / "base", veto=0, **HOW)
    assert subset.targets is not None
    truth = np.asarray(source.labels)[source.positions(subset.ids)]
    assert np.corrcoef(subset.targets.at(subset.ids)[:, 0], truth)[0, 1] > 0.5


def test_longer_texts_that_arrive_are_read_as_long_as_the_first(tmp_path: Path) -> None:
    texts = [f"{'good' if k % 2 else 'bad'} film number {k}" + " and more" * 9 * (k >= OLD) for k in range(ALL)]
    labels = [k % 2 for k in range(ALL)]
    how = {**HOW, "model": "textformer", "veto": 0}
    wn.prune((texts[:OLD], labels[:OLD]), 0.5, out=tmp_path / "base", **how)
    subset = wn.prune((texts, labels), 0.5, base=tmp_path / "base", **how)
    assert subset.certificate["since"]["counts"]["new"] == ALL - OLD


def test_data_without_an_old_example_are_refused(base: Path) -> None:
    x = np.random.default_rng(0).normal(size=(ALL, 5)).astype(np.float32)
    with pytest.raises(InputError, match="has seen none of the examples"):
        wn.prune(wn.open((x, np.arange(ALL) % 2), ids=data().ids), 0.5, base=base, seeds=2, **HOW)


def test_unlabelled_data_are_embedded_again_and_compared(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(ALL, 4)).astype(np.float32)
    wn.prune(wn.open(x[:OLD]), 0.5, out=tmp_path / "base")
    subset = wn.prune(wn.open(x), 0.5, base=tmp_path / "base")
    assert subset.certificate["since"]["counts"]["new"] == ALL - OLD


def test_with_proof_and_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from winnow.cli import main

    rng = np.random.default_rng(0)
    x = rng.normal(size=(ALL, 3)).round(4)
    rows = ["a,b,c,label", *(f"{a},{b},{c},{int(a > 0)}" for a, b, c in x)]
    (tmp_path / "rows.csv").write_text("\n".join(rows[: OLD + 1]) + "\n")
    words = ["--keep", "0.5", "--epochs", "2", "--veto", "0", "--proof-seeds", "2", "--workers", "1"]
    for run, more in (("a", []), ("b", ["--since", str(tmp_path / "a"), "--export", str(tmp_path / "kept.csv")])):
        with pytest.raises(SystemExit) as ended:
            main(["prune", str(tmp_path / "rows.csv"), *words, "--out", str(tmp_path / run), *more])
        assert ended.value.code == 0
        (tmp_path / "rows.csv").write_text("\n".join(rows) + "\n")
    said = capsys.readouterr().out
    assert "since a: " in said
    subset = wn.Subset.load(tmp_path / "b" / "subset.parquet")
    assert len((tmp_path / "kept.csv").read_text().splitlines()) == 1 + len(subset)
    with pytest.raises(SystemExit) as ended:
        main(["export", str(tmp_path / "b" / "subset.parquet"), "--out", str(tmp_path / "again.csv"), "--json"])
    assert ended.value.code == 0
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "kept.csv").read_bytes()


REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "another recipe": ({"recipe": wn.Recipe(epochs=5, batch=16)}, InputError, "epochs was 4, now 5"),
    "another network": ({"model": "linear"}, InputError, "model was 'mlp', now 'linear'"),
    "a tolerance": ({"keep": None, "tolerance": 0.1}, InputError, "together with tolerance"),
    "a method without signals": ({"method": "random"}, NotDefinedError, "methods that observe"),
    "a method that needs an ensemble": ({"method": "memorization"}, NotDefinedError, "start over"),
    "no directory": ({"base": 3}, InputError, "run directory of a pruning; got int"),
    "nothing there": ({"base": "nowhere"}, NotFoundError, "is not a winnow run"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str, base: Path) -> None:
    options, kind, said = REFUSED[case]
    with pytest.raises(kind, match=said):
        wn.prune(data(), **{"keep": 0.5, "base": base, "seeds": 2, **HOW, **options})


def test_a_base_whose_signals_have_changed_is_refused(base: Path, tmp_path: Path) -> None:
    shutil.copytree(base, tmp_path / "base")
    file = tmp_path / "base" / "signals" / "seed-1.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    with pytest.raises(StoreError, match="is not as it was written"):
        wn.prune(data(), 0.5, base=tmp_path / "base", seeds=2, **HOW)


def test_a_new_class_is_refused(base: Path) -> None:
    x = data().read(np.arange(ALL))
    now = wn.open((x, np.arange(ALL) % 3), ids=data().ids)
    with pytest.raises(InputError, match="no class '2'"):
        wn.prune(now, 0.5, base=base, seeds=2, **HOW)
