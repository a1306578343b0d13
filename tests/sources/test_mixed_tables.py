"""Tables with strings, categories, dates and missing values."""

from __future__ import annotations

import builtins
import json
import pickle
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pytest

import winnow as wn
from winnow import testing
from winnow.core.errors import MissingDependencyError
from winnow.evaluation.test_sets import exam, overlap
from winnow.sources import raw_table, table_encoder
from winnow.sources.holdout import hold_out
from winnow.sources.open import open as wn_open


def mixed(n: int = 120, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.normal(40, 9, n).round(2)
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, age),
            "colour": np.where(rng.random(n) < 0.1, None, rng.choice(["red", "blue", "green"], n)),
            "plan": pd.Categorical(rng.choice(["basic", "pro"], n)),
            "street": [
                f"{number} {word} road"
                for number, word in zip(rng.integers(0, 60, n), rng.choice(["old", "new"], n), strict=True)
            ],
            "since": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D"),
            "active": rng.random(n) < 0.5,
            "visits": rng.integers(0, 9, n),
        }
    )
    frame.loc[3, "since"] = pd.NaT
    return frame.assign(label=np.where(age > 40, "yes", "no"))


@pytest.fixture(scope="module")
def source() -> wn.artefacts.Source:
    return wn_open(mixed())


def test_every_kind_of_column_becomes_finite_numbers(source: Any) -> None:
    rows = source.read(np.arange(len(source)))
    assert (rows.dtype, rows.shape, source.kind, source.task) == (
        np.float32,
        (120, *source.shape),
        "table",
        "classification",
    )
    assert np.isfinite(rows).all()
    assert {"age", "age is missing", "colour_red", "plan_pro", "since_month", "since is missing", "active"} <= set(
        source.columns
    )
    frame = mixed()
    place = source.columns.index
    assert (rows[:, place("age is missing")] == frame["age"].isna()).all()
    assert (rows[:, place("colour_red")] == (frame["colour"] == "red")).all()
    filled = rows[frame["age"].isna().to_numpy(), place("age")]
    assert np.unique(filled).tolist() == [np.float32(frame["age"].median())]
    assert np.allclose(rows[~frame["age"].isna(), place("age")], frame["age"].dropna())


def test_the_record_of_the_encoding_is_plain_and_complete(source: Any) -> None:
    about = json.loads(json.dumps(source.provenance["origin"]["encoding"]))
    kinds = {name: column["kind"] for name, column in about["columns"].items()}
    assert kinds == {"age": "number", "colour": "category", "plan": "category", "street": "string", "since": "date",
                     "active": "number", "visits": "number"}  # fmt: skip
    features = [name for column in about["columns"].values() for name in column["features"]]
    assert sorted(features) == sorted(source.columns)
    assert about["columns"]["age"]["missing"] == int(mixed()["age"].isna().sum())
    assert about["fitted_on"] == 120


def test_neither_order_nor_format_changes_ids_and_numbers(source: Any, tmp_path: Path) -> None:
    frame = mixed()
    frame.to_csv(tmp_path / "m.csv", index=False)
    frame.to_parquet(tmp_path / "m.parquet", row_group_size=17)
    others = {
        "shuffled": wn_open(frame.sample(frac=1, random_state=1)),
        "csv": wn_open(tmp_path / "m.csv"),
        "parquet": wn_open(tmp_path / "m.parquet"),
        "hf": wn_open(datasets.Dataset.from_pandas(frame)),
        "polars": wn_open(pl.from_pandas(frame)),
    }
    rows = source.read(np.arange(len(source)))
    for name, other in others.items():
        assert set(other.ids) == set(source.ids), name
        assert np.array_equal(other.fetch(source.ids), rows), name
        assert other.fingerprint == source.fingerprint, name


def test_changed_cells_change_the_fingerprint_with_given_ids() -> None:
    frame = mixed().assign(id=np.arange(120))
    changed = frame.assign(colour=frame["colour"].where(frame["id"] != 7, "violet"))
    one, other = wn_open(frame), wn_open(changed)
    assert one.ids.tolist() == other.ids.tolist()
    assert one.fingerprint == wn_open(frame.iloc[::-1]).fingerprint != other.fingerprint


def test_the_conformance_suite_passes(tmp_path: Path) -> None:
    mixed().to_csv(tmp_path / "m.csv", index=False)
    testing.check_source(lambda: wn_open(tmp_path / "m.csv"))
    testing.check_source(lambda: wn_open(mixed()))


def test_readers_of_files_hold_paths(tmp_path: Path) -> None:
    for rows in (50, 2000):
        mixed(rows).to_csv(tmp_path / f"{rows}.csv", index=False)
    sizes = [len(pickle.dumps(wn_open(tmp_path / f"{rows}.csv").raw.cells_at)) for rows in (50, 2000)]
    assert sizes[1] < sizes[0] + 100


def test_a_held_out_part_says_nothing_about_the_encoding() -> None:
    frame = mixed()
    rest, held = hold_out(wn_open(frame), 0.25, seed=1)
    again = wn_open(frame[np.isin(wn_open(frame).ids, rest.ids)])
    assert rest.raw.record["fitted_on"] == 90
    assert rest.raw.digest == again.raw.digest == held.raw.digest
    assert np.array_equal(rest.fetch(again.ids), again.read(np.arange(90)))
    assert rest.shape == held.shape
    parts = hold_out(held, 0.5)  # the halves of a test set keep the encoding of the training data
    assert {part.raw.digest for part in parts} == {rest.raw.digest}


def test_a_test_set_is_encoded_like_the_training_data(source: Any, tmp_path: Path) -> None:
    later = mixed(40, seed=5).assign(plan="basic")  # one value only: alone it would have other columns
    later.loc[0, "colour"] = "never seen"
    later["since"] = later["since"].astype(str)
    matched = exam("test", "evaluate", source, wn_open(later))
    assert (matched.shape, matched.columns, matched.raw.digest) == (source.shape, source.columns, source.raw.digest)
    row = dict(zip(source.columns, matched.read(np.arange(1))[0].tolist(), strict=True))
    assert [row[f"colour_{word}"] for word in ("red", "blue", "green")] == [0, 0, 0]
    later.to_csv(tmp_path / "later.csv", index=False)
    assert np.array_equal(wn_open(tmp_path / "later.csv", like=source).read(np.arange(40)), matched.read(np.arange(40)))
    assert overlap(source, wn_open(mixed().iloc[:30], like=source)) == 30


def test_a_test_set_without_missing_values_is_encoded_too() -> None:
    frame = pd.DataFrame({"a": [1.0, None, 3.0, 4.0], "b": [1.0, 2.0, 3.0, 5.0], "label": [0, 1, 0, 1]})
    source, whole = wn_open(frame), wn_open(frame.fillna(9.0))
    assert (whole.raw, source.columns) == (None, ("a", "b", "a is missing"))
    matched = exam("test", "evaluate", source, whole)
    assert matched.read(np.arange(2)).tolist() == [[1, 1, 0], [9, 2, 0]]


def test_tables_of_numbers_need_no_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("winnow.sources.raw_table.fit_encoder", None)
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [True, False, True], "label": [0, 1, 0]})
    source = wn_open(frame)
    assert (source.raw, source.columns, source.read(np.arange(1)).tolist()) == (None, ("a", "b"), [[1.0, 1.0]])
    assert "encoding" not in source.origin


def test_without_skrub_one_line_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "skrub":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingDependencyError, match=r"pip install 'winnow-data\[tables\]'"):
        wn_open(mixed())


def test_text_stays_text_and_columns_can_be_left_out() -> None:
    texts = pd.DataFrame({"review": ["fine film", "dull", "a fine cast", "no"], "label": [1, 0, 1, 0]})
    assert wn_open(texts).kind == "text"
    assert wn_open(mixed(), text="street").kind == "text"
    few = wn_open(mixed(), drop=["street", "since", "colour"], columns=None)
    assert set(few.raw.parts) == {"age", "plan", "active", "visits"}
    assert wn_open(mixed(), columns=["visits", "active"]).raw is None


def test_a_column_of_identifiers_is_warned_of_and_may_be_the_ids() -> None:
    frame = mixed().assign(customer=[f"C{number:05d}" for number in range(120)])
    with pytest.warns(UserWarning, match="column 'customer' of source 'frame' has a different string in every row"):
        wn_open(frame)
    assert wn_open(frame, ids="customer").ids[0] == "C00000"
    assert "customer" not in wn_open(frame, drop="customer").raw.names


def test_the_raw_columns_are_shown(source: Any) -> None:
    shown = source.to_pandas()
    frame = mixed()
    assert list(shown.columns) == ["id", "label", *frame.columns[:-1]]
    assert shown["street"].tolist() == frame["street"].tolist()
    assert shown["visits"].dtype.kind == "i"
    part = source.at(np.array([5, 2]))
    assert part.to_pandas()["street"].tolist() == frame["street"].iloc[[5, 2]].tolist()


def test_a_limit_fits_the_encoding_to_what_is_left() -> None:
    assert wn_open(mixed(), limit=50).raw.record["fitted_on"] == 50


def test_the_order_of_a_fit_is_that_of_content_not_of_rows() -> None:
    frame = mixed(300)  # strings with many values, whose encoding is a decomposition
    one, other = wn_open(frame), wn_open(frame.iloc[::-1])
    assert np.array_equal(one.read(np.arange(300)), other.fetch(one.ids))


def test_a_worker_gets_no_fitted_objects_and_encodes_alike(source: Any) -> None:
    sent = pickle.dumps(source)
    assert b"skrub" not in sent.replace(b"skrub 0", b"")  # but for the version in the record
    rows = source.read(np.arange(len(source)))
    raw_table._whole.clear()
    table_encoder._fits.clear()
    assert np.array_equal(pickle.loads(sent).read(np.arange(len(source))), rows)
