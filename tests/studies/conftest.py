"""A data set called mnist, written to a folder, since the real one is not everywhere that tests run."""

import struct

import numpy as np
import pytest


def written(folder, name, values):
    """A file in the layout of MNIST."""
    head = struct.pack(">HBB", 0, 8, values.ndim) + struct.pack(f">{values.ndim}I", *values.shape)
    (folder / name).write_bytes(head + values.astype(np.uint8).tobytes())


@pytest.fixture
def mnist(tmp_path, monkeypatch):
    """Noise with a bright block whose place is the class."""
    folder = tmp_path / "data" / "mnist"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for split, n in (("train", 600), ("t10k", 100)):
        labels = np.arange(n) % 10
        images = rng.integers(0, 90, (n, 28, 28))
        for image, label in zip(images, labels, strict=True):
            image[9 * (label // 5) : 9 * (label // 5) + 8, 5 * (label % 5) : 5 * (label % 5) + 5] += 120
        written(folder, f"{split}-images-idx3-ubyte", images)
        written(folder, f"{split}-labels-idx1-ubyte", labels)
    monkeypatch.setenv("WINNOW_DATA", str(tmp_path / "data"))
