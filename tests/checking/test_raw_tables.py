"""Checks of tables with strings, dates and missing values speak of the raw columns."""

from __future__ import annotations

import numpy as np
import pandas as pd

from winnow.checking.columns import columns, drift
from winnow.checking.duplicates import duplicates
from winnow.checking.leaks import leaks
from winnow.checking.values import values
from winnow.report.pictures import make_pictures
from winnow.sources.open import open as wn_open


def frame(n: int = 200, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    label = rng.choice(["no", "yes"], n)
    return pd.DataFrame(
        {
            "income": np.where(rng.random(n) < 0.2, np.nan, rng.normal(50, 9, n).round(1)),
            "colour": rng.choice(["red", "blue", "green"], n),
            "town": [f"{word} town" for word in rng.integers(0, 70, n)],
            "since": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D"),
            "label": label,
        }
    )


def test_missing_values_constants_and_ids_are_found_by_raw_column() -> None:
    made = frame().assign(same="x", key=[f"row {number} of it" for number in range(200)])
    found = {(one.subject, one.evidence.split(":")[0]) for one in columns(wn_open(made))}
    missing = int(made["income"].isna().sum())
    assert ("income", f"{missing} of 200 values are missing ({missing / 200:.1%})") in found
    assert ("same", "every row that has a value has the same") in found
    assert ("key", "a different value in every row") in found
    assert {subject for subject, _ in found} == {"income", "same", "key"}


def test_a_string_column_that_gives_the_label_away_is_named() -> None:
    made = frame()
    told = made.assign(status=["left us" if one == "yes" else "stays" for one in made["label"]])
    coded = made.assign(code=[f"{one}/{number % 50}" for number, one in enumerate(made["label"])])
    for made, name in ((told, "status"), (coded, "code")):
        telling = [one for one in columns(wn_open(made)) if "of the label" in one.evidence]
        assert [one.subject for one in telling] == [name]


def test_values_are_judged_as_given_and_missing_ones_are_not_impossible() -> None:
    made = frame()
    made.loc[[3, 8], "income"] = -999.0
    source = wn_open(made)
    found = values(source)
    assert {one.id for one in found} == set(source.ids[[3, 8]])
    assert all(one.subject == "income" and "stand-in" in one.evidence for one in found)
    made.loc[5, ["income", "colour", "town"]] = None
    made.loc[5, "since"] = pd.NaT
    empty = [one for one in values(wn_open(made)) if one.evidence == "every value is missing"]
    assert len(empty) == 1


def test_copies_are_found_and_coincidences_are_not() -> None:
    made = frame()
    twice = wn_open(pd.concat([made, made.iloc[[10]]]))
    groups = list(duplicates(twice).groups())
    assert [sorted(one.tolist()) for one in groups] == [[10, 200]]
    rng = np.random.default_rng(1)
    few = pd.DataFrame({"a": rng.choice(list("xyz"), 300), "b": rng.choice(list("uvw"), 300), "label": [0, 1] * 150})
    assert list(duplicates(wn_open(few)).groups()) == []


def test_leaks_and_drift_compare_raw_rows_in_one_encoding() -> None:
    made = frame()
    test = pd.concat([frame(60, seed=3), made.iloc[[4]]]).drop(columns="since").assign(since=pd.Timestamp("2030-01-01"))
    test.iloc[-1, test.columns.get_loc("since")] = made["since"][4]
    source, other = wn_open(made), wn_open(test)
    assert [one.id for one in leaks(source, other)] == [source.ids[4]]
    assert {one.subject.split("_")[0] for one in drift(source, other)} == {"since"}


def test_pages_show_raw_cells() -> None:
    source = wn_open(frame())
    hole = int(np.flatnonzero(frame()["income"].isna())[0])
    gallery = make_pictures(source, source.ids[[hole, 1]].tolist())
    assert gallery.columns == ("income", "colour", "town", "since")
    row = gallery.sections["shown"][0].row
    assert row[0] == "missing"
    assert row[2] == frame()["town"][hole]
    assert row[3].startswith("2024-")
