import struct

import numpy as np
import pytest
from studies.lpntk import pruning
from studies.lpntk.pruning_tables import figure, rows, table, verdict
from studies.parts import Asked
from studies.shelf import Shelf

import winnow as wn


def idx(path, values):
    """An array of bytes as an idx file."""
    head = struct.pack(f">HBB{values.ndim}I", 0, 8, values.ndim, *values.shape)
    path.write_bytes(head + values.astype(np.uint8).tobytes())


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """A folder with images of ten classes, one bright block each at a place of its own, and noise."""
    folder = tmp_path_factory.mktemp("blocks")
    rng = np.random.default_rng(0)
    for split, n in (("train", 1200), ("t10k", 150)):
        labels = np.arange(n) % 10
        x = rng.integers(0, 120, (n, 28, 28))
        for i, label in enumerate(labels):
            row, column = 5 * (label // 5) + rng.integers(0, 3), 5 * (label % 5) + rng.integers(0, 3)
            x[i, row : row + 6, column : column + 6] += 110
        idx(folder / f"{split}-images-idx3-ubyte", x)
        idx(folder / f"{split}-labels-idx1-ubyte", labels)
    return folder


def asked(out, images):
    return Asked(Shelf(out, "lpntk pruning"), out, (str(images),), 1, quick=True)


def test_quick_run_compares_every_subset_and_goes_on(tmp_path, images, monkeypatch):
    part = pruning.run(asked(tmp_path, images))
    lines = [line for line in part.table if line.startswith("|")][2:]
    assert len(lines) == 9 + 2 + 2 + 3 + 2
    assert sum(line.startswith("- Paper:") for line in part.verdict) == 4
    assert "holds" not in "".join(part.verdict)  # one repeat decides nothing
    assert part.figure is not None
    kept = {file: file.stat().st_mtime_ns for file in tmp_path.glob("cells/*.json")}
    assert len(kept) == len(pruning.SITUATIONS)
    monkeypatch.setattr(wn, "evaluate", None)  # nothing may be trained again
    again = pruning.run(asked(tmp_path, images))
    assert again == part
    assert {file: file.stat().st_mtime_ns for file in tmp_path.glob("cells/*.json")} == kept


def test_situations_are_what_they_say(images):
    pool = wn.open(str(images))
    source, which = pruning.situated(pool, "repeated", 400, 1)
    counts = np.bincount(which)
    assert len(source) == which.size == counts.sum()
    assert (counts == pruning.COPIES).sum() == round(pruning.REPEATED * counts.size)
    assert set(counts) == {1, pruning.COPIES}
    first, copy = np.flatnonzero(which == 0)[:2]
    apart = source.read(np.array([first])).astype(float) - source.read(np.array([copy]))
    assert 0.5 * pruning.GREY < apart.std() < 1.1 * pruning.GREY  # less than the noise where it is clipped
    assert source.labels[first] == source.labels[copy]
    source, _ = pruning.situated(pool, "imbalanced", 37 * 4, 1)
    assert sorted(np.bincount(source.labels)) == [4] * 7 + [40] * 3
    source, wrong = pruning.situated(pool, "mislabelled", 300, 1)
    truth = pool.labels[pool.positions(source.ids)]
    assert wrong.sum() == 30
    assert np.array_equal(source.labels != truth, wrong == 1)


def test_marks_tell_what_was_kept():
    which = np.array([0, 1, 2, 2, 2, 2])
    assert pruning.told("repeated", which, np.array([0, 2, 3])) == pytest.approx([2 / 3, (0.5 + 0.5 + 1 - 0.5**4) / 3])
    labels = np.array([0, 0, 0, 0, 1, 1])
    assert pruning.told("imbalanced", labels, np.array([0, 4, 5])) == [1.0, 0.5]
    assert pruning.told("mislabelled", np.array([1, 0, 0, 0]), np.array([0, 1])) == [0.5, 0.25]
    assert pruning.told("as drawn", labels, np.array([0])) is None


def test_head_is_thinned_by_a_tenth():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 60)
    features = rng.normal(size=(120, 30)).astype(np.float32) + 4 * np.eye(30, dtype=np.float32)[labels]
    signals = wn.Signals(np.arange(120), {"lpntk": features[None]}, "classification", labels, ("a", "b"))
    found = pruning.thinned(signals, "cover", 0).certificate
    heads = wn.lpntk.farthest_points(features @ features.T, 0.1, labels=labels)
    assert found["redundant"] == 0  # in 30 dimensions no two are this close
    assert found["thinned"] == round(0.1 * heads.sizes[heads.heads].sum()) > 0
    assert found["beyond_head"] == 0


ARMS = {
    "as drawn": (
        "cover",
        "head only 1%",
        "head only 5%",
        "head thinned, cover",
        "head thinned, paper's rule",
        "paper's rule, lpNTK",
        "paper's rule, pNTK",
    ),
    "repeated": ("cover",),
}


def made_up(gains, full=0.9, random=0.8):
    """Cells of three repeats in which an arm is above random by what `gains` says, give or take a little."""
    cells = {}
    for situation, arms in ARMS.items():
        cells["blocks", situation] = [
            {
                "examples": 100,
                "full": full,
                "full_s": 2.0,
                "arms": {
                    arm: {
                        "kept": 20,
                        "accuracy": random + gains.get((situation, arm), 0.0) + wobble,
                        "random": random,
                        "selection_s": 3.0,
                        "train_s": 1.0,
                        "telling": [0.9, 0.4] if situation == "repeated" else None,
                    }
                    for arm in arms
                },
            }
            for wobble in (-0.001, 0.0, 0.001)
        ]
    return cells


def said(gains):
    cells = made_up(gains)
    return verdict(rows(cells), cells)


def test_differences_are_paired_and_in_points():
    cells = made_up({("as drawn", "cover"): 0.05})
    (row,) = (r for r in rows(cells) if r.arm == "cover" and r.situation == "as drawn")
    assert row.random.centre == pytest.approx(5)
    assert row.full.centre == pytest.approx(-5)
    assert row.random.half_width == pytest.approx(4.302653 * 0.1 / np.sqrt(3), rel=1e-5)
    assert "| 20 (20%) | 85.00 ± 0.25 | +5.00 ± 0.25 ▲ | -5.00 ± 0.25 ▼ | 3 | 1.5 |" in "\n".join(table(rows(cells)))


def test_claims_that_fail_are_said_to_fail():
    arms = [("as drawn", arm) for arm in ARMS["as drawn"]]
    rule, labels, thinning, head, cover, *_ = said(
        {**dict.fromkeys(arms, -0.1), ("as drawn", "paper's rule, pNTK"): 0.0}
    )
    assert "-20.00 ± 0.25 ▼ points against everything, does not hold: it falls" in rule
    assert "-10.00 ± 0.25 ▼ against random of the same size, worse" in rule
    assert "-10.00 ± 0.00 ▼ points above pNTK, does not hold: the other way round" in labels
    assert thinning.count("does not hold: the other way round") == 2
    assert head.count("does not hold: the other way round") == 2
    assert "beats random of the same size at: none" in cover


def test_claims_that_hold_are_said_to_hold():
    gains = {("as drawn", arm): 0.12 for arm in ARMS["as drawn"]} | {("repeated", "cover"): 0.03}
    gains |= {("as drawn", "paper's rule, lpNTK"): 0.1, ("as drawn", "paper's rule, pNTK"): 0.05}
    rule, labels, thinning, head, cover, kept, *_ = said(gains)
    assert "not contradicted" in rule
    assert "better" in rule
    assert "+5.00 ± 0.00 ▲ points above pNTK, holds" in labels
    assert thinning.count(", holds;") == 2
    assert head.count(", holds.") == 2
    assert "blocks, repeated, 20% kept (+3.00 ± 0.25 ▲)" in cover
    assert "Worse than random at: none" in cover
    assert "90% of the distinct examples kept (random 40%)" in kept


def test_what_is_not_decided_is_not_claimed():
    rule, labels, thinning, head, cover, *_ = said({})
    assert all(line.count("not shown") == count for line, count in ((labels, 1), (thinning, 0), (head, 2)))
    assert "not told apart" in rule
    assert "Not told apart at: blocks, as drawn, 20% kept; blocks, repeated, 20% kept" in cover


def test_figure_has_a_panel_for_each_data_set():
    cells = made_up({})
    both = {**cells, **{("others", situation): found for (_, situation), found in cells.items()}}
    drawing = figure(rows(both))
    assert [axis.get_title(loc="left") for axis in drawing.axes] == ["blocks", "others"]
    assert len(drawing.axes[0].get_yticks()) == sum(map(len, ARMS.values()))
