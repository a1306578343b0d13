"""Small files of every format, written the way their owners write them."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image


def pictures(n: int, height: int = 6, width: int = 5, channels: int = 3, seed: int = 0) -> np.ndarray:
    """Random uint8 images, n x H x W x C (or n x H x W)."""
    shape = (n, height, width, channels) if channels > 1 else (n, height, width)
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def png(image: np.ndarray) -> bytes:
    out = io.BytesIO()
    Image.fromarray(image).save(out, "PNG")
    return out.getvalue()


def image_folder(root: Path, classes: dict[str, np.ndarray]) -> Path:
    for name, images in classes.items():
        (root / name).mkdir(parents=True, exist_ok=True)
        for number, image in enumerate(images):
            (root / name / f"{number}.png").write_bytes(png(image))
    return root


def hub_parquet(
    path: Path, images: list[bytes], labels: list[Any], metadata: dict[str, str] | None = None, rows: int = 4
) -> Path:
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    column = pa.array([{"bytes": item, "path": None} for item in images], type=kind)
    table = pa.table({"img": column, "label": labels})
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table.replace_schema_metadata(metadata), path, row_group_size=rows)
    return path


def tar(path: Path, members: dict[str, bytes]) -> Path:
    """A tar file of these members, in order."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as archive:
        for name, data in members.items():
            about = tarfile.TarInfo(name)
            about.size = len(data)
            archive.addfile(about, io.BytesIO(data))
    return path


def idx(path: Path, values: np.ndarray, zipped: bool = False) -> Path:
    head = bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape)
    data = head + values.astype(np.uint8).tobytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if zipped else data)
    return path


def mnist_folder(root: Path, n: int = 12, zipped: bool = True) -> Path:
    end = ".gz" if zipped else ""
    for split, seed in (("train", 1), ("t10k", 2)):
        idx(root / f"{split}-images-idx3-ubyte{end}", pictures(n, channels=1, seed=seed), zipped)
        idx(root / f"{split}-labels-idx1-ubyte{end}", np.arange(n) % 3, zipped)
    return root


def python2_batch(images: np.ndarray, labels: list[int], key: bytes = b"labels") -> bytes:
    """A CIFAR batch opcode by opcode as Python 2's cPickle wrote it (protocol 2)."""

    def small(text: bytes) -> bytes:
        return b"U" + bytes([len(text)]) + text

    n, width = images.shape
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\nq\x01cnumpy\nndarray\nq\x02K\x00\x85" + small(b"b") + b"\x87R"
        b"(K\x01" + b"M" + struct.pack("<H", n) + b"M" + struct.pack("<H", width) + b"\x86"
        b"cnumpy\ndtype\nq\x03" + small(b"u1") + b"K\x00K\x01\x87R(K\x03" + small(b"|") + b"NNNJ\xff\xff\xff\xff"
        b"J\xff\xff\xff\xffK\x00tb\x89T" + struct.pack("<i", images.size) + images.tobytes() + b"tb"
    )
    numbers = b"](" + b"".join(b"K" + bytes([label]) for label in labels) + b"e"
    return b"\x80\x02}q\x00(" + small(b"data") + array + small(key) + numbers + b"u."


def cifar10_folder(root: Path, n: int = 6) -> np.ndarray:
    """Python batches; returns the training images."""
    root.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(3)
    rows = [rng.integers(0, 256, (n, 3072), dtype=np.uint8) for _ in range(3)]
    labels = [number % 3 for number in range(n)]
    (root / "data_batch_1").write_bytes(python2_batch(rows[0], labels))
    (root / "data_batch_2").write_bytes(python2_batch(rows[1], labels))
    (root / "test_batch").write_bytes(python2_batch(rows[2], labels))
    names = b"".join(b"U" + bytes([len(name)]) + name for name in (b"cat", b"dog", b"cow"))
    (root / "batches.meta").write_bytes(b"\x80\x02}(U\x0blabel_names](" + names + b"eu.")
    return np.concatenate(rows[:2]).reshape(-1, 3, 32, 32)
