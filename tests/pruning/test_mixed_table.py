"""A table with strings, dates, categories and missing values, end to end: by a network and by estimators."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

import winnow as wn
from tests.sources.test_mixed_tables import mixed

SHORT = wn.Recipe(epochs=3)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CSV file whose ids are in a column, beside a column that must not be used."""
    folder = tmp_path_factory.mktemp("mixed")
    frame = mixed(160).assign(customer=[f"C{number:04d}" for number in range(160)])
    frame.assign(secret=frame["label"]).to_csv(folder / "train.csv", index=False)
    later = mixed(60, seed=9).assign(customer=[f"D{number:04d}" for number in range(60)], secret="")
    later.to_csv(folder / "test.csv", index=False)
    return folder


def test_check_prune_and_proof_of_a_network(table: Path, tmp_path: Path) -> None:
    how = {"ids": "customer", "drop": "secret"}
    issues = wn.check(table, recipe=SHORT, folds=2, engine=wn.Local(workers=1), **how)
    assert "age" in issues.of("column")["subject"]
    proof = wn.prune_with_proof(
        table,
        keep=0.5,
        recipe=SHORT,
        proof_seeds=2,
        method="el2n",
        engine=wn.Local(workers=1),
        out=tmp_path / "run",
        **how,
    )
    assert set(proof.subset.ids) <= {f"C{number:04d}" for number in range(160)}
    assert len(proof.subset) == 80
    encoding = proof.study.provenance["inputs"]["source"]["origin"]["encoding"]
    assert encoding["columns"]["street"]["kind"] == "string"
    assert "secret" not in encoding["columns"]
    page = (tmp_path / "run" / "report.html").read_text()
    assert "road" in page  # raw cells, not their encoding


def test_what_is_held_out_for_the_proof_is_not_fitted_on(table: Path) -> None:
    proof = wn.prune_with_proof(
        table / "train.csv", keep=0.5, recipe=SHORT, proof_seeds=2, method="random", ids="customer", drop="secret",
        engine=wn.Local(workers=1),
    )  # fmt: skip
    assert proof.study.provenance["inputs"]["source"]["origin"]["encoding"]["fitted_on"] == 128


@pytest.mark.parametrize("model", [HistGradientBoostingClassifier(max_iter=10), LogisticRegression(max_iter=500)])
def test_estimators_train_on_the_same_encoding(table: Path, model: object) -> None:
    source = wn.open(table, ids="customer", drop="secret")
    scores = wn.score("el2n", wn.observe(source, "mlp", SHORT))
    study = wn.evaluate(
        source,
        {"mine": wn.select("rank", scores, keep=0.5)},
        test=wn.open(table, split="test", ids="customer", drop="secret"),
        model=model,
        seeds=2,
        engine=wn.Local(workers=1),
    )
    assert study.of("full")[0].value > 0.7
    seen = wn.observe(source, model, want=("oof",), folds=2, engine=wn.Local(workers=1))
    assert seen.array("oof").shape == (1, 160, 2)


def test_the_command_line_takes_columns_drop_and_id(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from winnow.cli import _run

    words = ["--id", "customer", "--drop", "secret", "--drop", "street", "--epochs", "2", "--json"]
    assert _run(["observe", str(table), *words, "--out", str(tmp_path / "run")]) == 0
    signals = wn.artefacts.Signals.load(tmp_path / "run" / "signals.safetensors")
    assert signals.ids[0] == "C0000"
    kept = signals.provenance["inputs"]["source"]["origin"]["encoding"]["columns"]
    assert set(kept) == set(mixed().columns) - {"street", "label"}
    words = ["--columns", "visits", "--columns", "age", "--epochs", "2", "--out", str(tmp_path / "two")]
    assert _run(["observe", str(table), *words]) == 0
    two = wn.artefacts.Signals.load(tmp_path / "two" / "signals.safetensors")
    assert set(two.provenance["inputs"]["source"]["origin"]["encoding"]["columns"]) == {"visits", "age"}
    capsys.readouterr()
    assert np.unique(two.ids).size == 160
