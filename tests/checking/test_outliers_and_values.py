"""Outliers, empty images and impossible values: found if planted, silent if not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import winnow as wn
from tests.checking.small import images, named, table
from tests.oracles import checking as oracle
from winnow.checking.outliers import far_out, outliers, tail_probability
from winnow.checking.values import values
from winnow.core.errors import DataError
from winnow.engines import Local


def test_how_far_out_agrees_with_its_slow_twin() -> None:
    points = np.random.default_rng(0).normal(size=(60, 3))
    assert np.allclose(far_out(points), oracle.far_out(points, 10), rtol=1e-4)


def test_far_rows_are_outliers_and_are_not_flagged() -> None:
    x = table(1000)
    x[7] += 60 * x.std(axis=0)
    found = outliers(named(x))
    assert found[0].id == "e00007"
    assert found[0].probability > 0.95
    assert not any(one.flagged for one in found)
    assert len(found) <= 5


def test_given_embeddings_decide() -> None:
    points = np.random.default_rng(0).normal(size=(500, 4))
    points[3] += 40
    assert outliers(named(table(500)), points)[0].id == "e00003"


def test_clean_gaussian_data_have_few_outliers() -> None:
    x = np.random.default_rng(0).normal(size=(5000, 6)).astype(np.float32)
    assert len(outliers(named(x))) <= 10
    assert tail_probability(np.random.default_rng(0).exponential(size=10_000)).max() < 0.9


def test_images_that_show_nothing() -> None:
    x = images(200)
    x[0], x[1] = 0, 93
    x[2] = 93
    x[2, 0, 0, 0] = 95
    x[3, :, 12:] = 128
    found = {one.id: one for one in outliers(named(x)) if one.kind == "value"}
    assert set(found) == {f"e0000{place}" for place in range(4)}
    assert "black" in found["e00000"].evidence
    assert "black" not in found["e00001"].evidence
    assert "hardly differ" in found["e00002"].evidence
    assert "cut off" in found["e00003"].evidence
    assert not found["e00003"].flagged
    assert found["e00000"].flagged


def test_pixels_that_are_not_numbers_and_dark_borders() -> None:
    x = images(120).astype(np.float32) / 64
    source = named(x)
    x[5, 0, 3, 3] = np.nan
    broken = replace(source, read=lambda where: x[where], make_ids=source.ids)
    assert [one.id for one in outliers(broken, np.zeros((120, 2))) if one.kind == "value"] == ["e00005"]
    framed = images(120)
    framed[:, :, 14:] = 0  # if all images end in black, none was cut off
    assert [one for one in outliers(named(framed)) if one.kind == "value"] == []


def test_clean_tables_are_silent() -> None:
    draw = np.random.default_rng(0)
    columns = [
        draw.normal(size=3000),
        draw.lognormal(0, 2, size=3000),
        draw.exponential(size=3000),
        draw.integers(0, 5, size=3000),
        draw.standard_t(3, size=3000),
        draw.normal(3, 1, size=3000),
        draw.poisson(2, size=3000),
        np.where(draw.random(3000) < 0.9, 0, draw.lognormal(size=3000)),
    ]
    assert values(named(np.stack(columns, axis=1).astype(np.float32))) == []


@pytest.mark.parametrize(
    ("place", "column", "value", "why"),
    [
        (range(5), "normal", -999.0, "stand-in"),
        (range(3), "positive", 9999.0, "stand-in"),
        (range(4), "age", 0.0, "zero 4 times"),
        (range(1), "positive", -0.5, "negative"),
        (range(1), "age", -20.0, "negative"),
        (range(1), "positive", 1e9, "as far out"),
        (range(6), "normal", 500.0, "exactly the same"),
    ],
)
def test_impossible_values(place: range, column: str, value: float, why: str) -> None:
    draw = np.random.default_rng(0)
    made = {
        "normal": draw.normal(size=2000),
        "positive": draw.exponential(size=2000) + 1e-3,
        "age": draw.uniform(18, 90, size=2000).round(),
    }
    made[column][list(place)] = value
    source = named(np.stack(list(made.values()), axis=1).astype(np.float32))
    found = values(source)
    assert [one.id for one in found] == [f"e{one:05d}" for one in place]
    assert all(why in one.evidence and one.subject == f"x{list(made).index(column)}" for one in found)


def test_infinite_values_and_empty_rows() -> None:
    x = table(500)
    source = named(x)
    x[3, 2], x[4, 1] = np.inf, np.nan
    x[9] = 0
    found = {one.id: one for one in values(replace(source, read=lambda where: x[where], make_ids=source.ids))}
    assert set(found) == {"e00003", "e00004", "e00009"}
    assert found["e00003"].probability == 1
    assert "every column is 0" in found["e00009"].evidence
    assert values(named(np.ones((50, 6), dtype=np.float32))) == []
    assert values(named(images(30))) == []


@pytest.fixture(scope="module")
def broken_folder(tmp_path_factory) -> Path:
    """Two classes of 12 images; one file is empty, one truncated."""
    root = tmp_path_factory.mktemp("folder") / "train"
    for place, one in enumerate(images(24)):
        file = root / ("cat", "dog")[place % 2] / f"{place:02d}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(one[0]).save(file)
    (root / "cat" / "04.png").write_bytes(b"")
    (root / "dog" / "07.png").write_bytes((root / "dog" / "07.png").read_bytes()[:120])
    return root.parent


def test_unreadable_images_of_a_folder_are_findings_and_left_out(broken_folder: Path, tmp_path: Path) -> None:
    short: dict[str, Any] = {"recipe": wn.Recipe(epochs=1), "folds": 2, "engine": Local(workers=1)}
    with pytest.warns(UserWarning, match="2 of 24 images"):
        found = wn.check(broken_folder, model="mlp", out=tmp_path, **short)
    broken = {"train/cat/04.png", "train/dog/07.png"}
    value = found.of("value")
    assert set(value["id"].tolist()) == broken
    assert value["flagged"].all()
    assert "cannot be read" in value["evidence"][0]
    assert found.examples == 24
    assert not broken & set(found.clean().ids.tolist())
    assert "train/cat/04.png" in (tmp_path / "check.html").read_text()
    assert wn.Issues.load(tmp_path / "issues.parquet").counts()["value"] == 2


def test_without_labels_unreadable_images_rank_first(broken_folder: Path) -> None:
    with pytest.warns(UserWarning, match="2 of 24 images"):
        found = wn.check(broken_folder, task="unlabelled")
    assert set(found.of("example")["id"][:2].tolist()) == {"train/cat/04.png", "train/dog/07.png"}


def test_unreadable_images_may_still_be_refused(broken_folder: Path) -> None:
    with pytest.raises(DataError, match=r"cat/04\.png cannot be read.*--unreadable skip"):
        wn.check(broken_folder, unreadable="refuse")
