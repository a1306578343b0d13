"""Rows that belong together: groups and times are read, kept, and respected by every split."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import winnow as wn
from winnow.artefacts import Source
from winnow.core.errors import DataError, WinnowError
from winnow.sources.holdout import hold_out, sample


def arrays(n: int = 120, groups: int = 12, classes: int = 3, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        "x": rng.normal(size=(n, 2)),
        "y": rng.integers(0, classes, n),
        "group": rng.integers(0, groups, n),
        "time": rng.permutation(n),
    }


def opened(data: dict[str, Any], *beside: str, order: Any = slice(None)) -> Source:
    more = {word: data[word][order] for word in beside}
    return wn.open((data["x"][order], data["y"][order]), **more)


def frame(n: int = 40) -> pd.DataFrame:
    data = arrays(n, 6)
    found = pd.DataFrame(data["x"], columns=["a", "b"])
    days = pd.date_range("2026-01-01", periods=n).strftime("%Y-%m-%d")
    return found.assign(label=data["y"], patient=[f"p{g}" for g in data["group"]], day=days)


@settings(max_examples=40, deadline=None)
@given(groups=st.integers(2, 30), fraction=st.floats(0.1, 0.6), seed=st.integers(0, 4))
def test_a_group_is_on_one_side_whatever_the_order(groups: int, fraction: float, seed: int) -> None:
    data = arrays(groups=groups, seed=seed)
    try:
        rest, held = hold_out(opened(data, "group"), fraction, seed)
    except DataError:
        if groups > 4:
            raise
        return
    assert not set(rest.groups) & set(held.groups)
    assert len(rest) + len(held) == 120
    assert set(rest.labels) == {0, 1, 2}
    if groups >= 10:
        assert abs(len(held) / 120 - fraction) < 0.5 * 120 / groups / 120 + 0.03
        assert set(held.labels) == {0, 1, 2}
    order = np.random.default_rng(9).permutation(120)
    assert set(hold_out(opened(data, "group", order=order), fraction, seed)[1].ids) == set(held.ids)


def test_groups_are_drawn_anew_with_each_seed_and_a_rare_class_is_on_both_sides() -> None:
    data = arrays()
    held = [set(hold_out(opened(data, "group"), 0.25, seed)[1].groups.tolist()) for seed in range(6)]
    assert len({frozenset(one) for one in held}) > 3
    data["y"] = np.where(np.isin(data["group"], (3, 7)), 1, 0)
    for seed in range(6):
        rest, out = hold_out(opened(data, "group"), 0.2, seed)
        assert 1 in rest.labels
        assert 1 in out.labels


def test_what_is_held_out_is_the_latest_part_and_equal_times_are_not_divided() -> None:
    data = arrays()
    rest, held = hold_out(opened(data, "time"), 0.25, 5)
    assert (len(held), rest.times.max() < held.times.min()) == (30, True)
    data["time"] = np.arange(120) // 50  # 50, 50 and 20 examples at three times
    rest, held = hold_out(opened(data, "time"), 0.3, 0)
    assert (len(held), set(held.times.tolist())) == (20, {2})


def test_with_both_the_past_of_held_out_groups_is_left_out() -> None:
    data = arrays()
    data["group"] = np.arange(120) // 8
    data["time"] = np.arange(120)
    data["time"][0] = 200  # the first group comes back at the end
    with pytest.warns(UserWarning, match="8 of 120 examples .* are in neither part"):
        rest, held = hold_out(opened(data, "group", "time"), 0.2, 0)
    assert 0 in held.groups
    assert not set(rest.groups) & set(held.groups)
    assert rest.times.max() < held.times.min()
    assert rest.origin["hold_out"]["left_out"] == 8  # seven of the first group, one of the group that the cut divides
    assert len(rest) + len(held) == 112


def test_a_sample_has_the_exact_size_and_keeps_its_groups() -> None:
    data = arrays()
    source = wn.open((data["x"], data["y"]), group=data["group"], time=data["time"], limit=50)
    assert len(source) == 50
    where = opened(data).positions(source.ids)
    assert (source.groups == data["group"][where]).all()
    assert (source.times == data["time"][where]).all()
    assert len(sample(source, 20)) == 20


def test_columns_are_read_and_are_no_features(tmp_path: Path) -> None:
    made = frame()
    made.to_csv(tmp_path / "rows.csv", index=False)
    made.to_parquet(tmp_path / "rows.parquet")
    made.to_json(tmp_path / "rows.jsonl", orient="records", lines=True)
    np.savez(
        tmp_path / "rows.npz", X=made[["a", "b"]].to_numpy(), y=made["label"], patient=made["patient"].to_numpy("U")
    )
    prints = set()
    for what in (made, pa.Table.from_pandas(made), *(tmp_path / f"rows.{end}" for end in ("csv", "parquet", "jsonl"))):
        source = wn.open(what, group="patient", time="day")
        assert source.columns == ("a", "b")
        assert source.groups.tolist() == made["patient"].tolist()
        assert source.times.astype("datetime64[D]").astype(str).tolist() == made["day"].tolist()
        assert (source.origin["group"], source.origin["time"]) == ("patient", "day")
        prints.add(source.fingerprint)
    assert wn.open(tmp_path / "rows.npz", group="patient").groups.tolist() == made["patient"].tolist()
    assert len(prints) <= 3  # float32 of CSV text, of JSON text and of binary columns


def test_they_are_part_of_the_fingerprint_and_follow_the_examples() -> None:
    data = arrays()
    plain, grouped, timed = opened(data), opened(data, "group"), opened(data, "group", "time")
    assert len({plain.fingerprint, grouped.fingerprint, timed.fingerprint}) == 3
    order = np.random.default_rng(1).permutation(120)
    assert opened(data, "group", "time", order=order).fingerprint == timed.fingerprint
    some = timed.take(timed.ids[5:9]).with_labels([0, 1, 0, 1], "classification", ("n", "y"))
    assert some.groups.tolist() == data["group"][5:9].tolist()
    assert some.times.tolist() == data["time"][5:9].tolist()
    assert wn.open(plain, group=data["group"], time=data["time"]).fingerprint == timed.fingerprint
    assert {"group", "time"} <= set(timed.to_pandas().columns)


def test_dates_of_every_kind_become_one() -> None:
    aware = datetime(2026, 1, 1, 12, tzinfo=UTC)
    kinds = [
        ["2026-01-01T12:00", "2026-01-02"],
        ["2026-01-01T13:00+01:00", "2026-01-02T00:00:00Z"],
        [aware, datetime(2026, 1, 2)],
        np.array(["2026-01-01T12:00", "2026-01-02"], dtype="datetime64[ns]"),
    ]
    wanted = np.array(["2026-01-01T12:00", "2026-01-02"], dtype="datetime64[us]")
    for given_times in kinds:
        found = wn.open((np.eye(2), [0, 1]), time=given_times).times
        assert (found == wanted).all()


@pytest.mark.parametrize(
    ("more", "fragment"),
    [
        ({"group": [1, 2]}, "group of wn.open must have 4 entries, one per example"),
        ({"group": ["a", None, "b", "b"]}, "group of source 'arrays' must be known for every example; 1 of 4"),
        ({"group": "patient"}, "must be an array here"),
        ({"time": ["soon", "later", "now", "then"]}, "must be numbers, or dates such as"),
        ({"time": [1.0, np.inf, 2, 3]}, "must be finite"),
    ],
)
def test_refuses_in_one_sentence(more: dict[str, Any], fragment: str) -> None:
    with pytest.raises(WinnowError, match=fragment) as caught:
        wn.open((np.eye(4), [0, 1, 0, 1]), **more)
    assert str(caught.value).endswith(".")


def test_too_few_groups_or_times_are_one_sentence() -> None:
    data = arrays()
    with pytest.raises(DataError, match="has one group, 7; at least two"):
        hold_out(opened({**data, "group": np.full(120, 7)}, "group"), 0.2)
    with pytest.raises(DataError, match="too few groups"):
        hold_out(opened({**data, "group": data["y"]}, "group"), 0.2)  # a group is a class: none can be spared
    with pytest.raises(DataError, match="has one time"):
        hold_out(opened({**data, "time": np.full(120, 7)}, "time"), 0.2)
    with pytest.raises(DataError, match="no group that ends before"):
        hold_out(opened({**data, "group": np.arange(120) % 2}, "group", "time"), 0.2)
