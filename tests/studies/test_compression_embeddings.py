import struct

import numpy as np
import pytest
from studies.compression import embeddings
from studies.compression.embeddings import Sizes, table, verdict
from studies.parts import Asked
from studies.shelf import Shelf

NOTE = {"dims": 3, "order": 1, "spread_lost": 0.25, "moment_error": 1e-15}


def idx(path, values):
    """An array of bytes as an idx file."""
    head = struct.pack(f">HBB{values.ndim}I", 0, 8, values.ndim, *values.shape)
    path.write_bytes(head + values.astype(np.uint8).tobytes())


@pytest.fixture
def images(tmp_path):
    """A folder with images of ten classes, one bright block each at a place of its own, and noise."""
    folder = tmp_path / "blocks"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for split, n in (("train", 400), ("t10k", 100)):
        labels = np.arange(n) % 10
        x = rng.integers(0, 120, (n, 28, 28))
        for i, label in enumerate(labels):
            row, column = 5 * (label // 5) + rng.integers(0, 3), 5 * (label % 5) + rng.integers(0, 3)
            x[i, row : row + 6, column : column + 6] += 110
        idx(folder / f"{split}-images-idx3-ubyte", x)
        idx(folder / f"{split}-labels-idx1-ubyte", labels)
    return str(folder)


def test_quick_run_goes_on(tmp_path, images, monkeypatch):
    small = Sizes(pool=300, test=100, each=(5,), pretraining=200, pretraining_epochs=1, epochs=1)
    monkeypatch.setattr(embeddings, "QUICK", small)
    monkeypatch.setattr(embeddings, "PRETRAINING", images)
    out = tmp_path / "run"
    asked = Asked(Shelf(out, "compression embeddings"), out, (images,), 1, quick=True)
    part = embeddings.run(asked)
    assert len(part.table) == 2 + len(embeddings.JUDGES)
    assert part.figure is not None
    kept = {file: file.stat().st_mtime_ns for file in out.glob("accuracies/*.json")}
    assert len(kept) == 1
    monkeypatch.setattr(embeddings, "accuracies", None)  # nothing may be trained again
    assert embeddings.run(asked) == part
    assert {file: file.stat().st_mtime_ns for file in out.glob("accuracies/*.json")} == kept


def made_up(gain):
    rng = np.random.default_rng(0)
    every = []
    for _ in range(5):
        chance = rng.uniform(0.6, 0.7)
        judged = {"moments 10": chance + gain + rng.normal(0, 0.002), "chance 10": chance, "full": 0.8}
        every.append(dict.fromkeys(embeddings.JUDGES, judged) | {"certificates": {"10": NOTE}})
    return {"some-data": every}


@pytest.mark.parametrize(
    ("gain", "word"), [(0.05, "it wins at 10"), (-0.05, "it loses at 10"), (0.0, "it is not told from random at 10")]
)
def test_losing_is_reported_as_losing(gain, word):
    lines = verdict(made_up(gain), (10,))
    assert sum(word in line for line in lines) == len(embeddings.JUDGES)
    assert "order 1 in 3 directions" in lines[-1]
    assert "25 %" in lines[-1]
    assert len(table(made_up(gain), (10,))) == 2 + len(embeddings.JUDGES)
