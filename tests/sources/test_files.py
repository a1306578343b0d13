from __future__ import annotations

import gzip
import io
import json
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq
import pytest
from PIL import Image

from winnow.core.errors import DataError, NotFoundError
from winnow.sources import batch_pickles, image_folder, memory, row_groups, splits
from winnow.sources import encoded_images as encoded
from winnow.sources.open import open as wn_open

from .writers import cifar10_folder, hub_parquet, idx, mnist_folder, pictures, png
from .writers import image_folder as write_folder


@pytest.fixture
def hub(tmp_path: Path) -> tuple[Path, np.ndarray]:
    images = pictures(10)
    hub_parquet(tmp_path / "hub" / "train.parquet", [png(image) for image in images], [i % 3 for i in range(10)])
    hub_parquet(tmp_path / "hub" / "test.parquet", [png(image) for image in images[:4]], [0, 1, 2, 0])
    return tmp_path / "hub", images


def test_hub_parquet_images(hub: tuple[Path, np.ndarray]) -> None:
    path, images = hub
    source = wn_open(path)
    assert (len(source), source.shape, source.kind, source.classes) == (10, (3, 6, 5), "image", ("0", "1", "2"))
    where = np.array([9, 0, 4, 4, 7])
    assert (source.read(where) == images[where].transpose(0, 3, 1, 2)).all()
    test = wn_open(path, split="test")
    assert (test.name, len(test)) == ("hub:test", 4)
    assert set(test.ids) <= set(source.ids)
    with pytest.raises(NotFoundError, match="no split 'other'"):
        wn_open(path, split="other")


def test_resharding_and_shuffling_change_no_id(hub: tuple[Path, np.ndarray], tmp_path: Path) -> None:
    path, images = hub
    order = np.random.default_rng(0).permutation(10)
    data = [png(images[i]) for i in order]
    labels = [int(i) % 3 for i in order]
    hub_parquet(tmp_path / "new" / "train-00000-of-00002.parquet", data[:3], labels[:3], rows=2)
    hub_parquet(tmp_path / "new" / "train-00001-of-00002.parquet", data[3:], labels[3:], rows=3)
    one, other = wn_open(path), wn_open(tmp_path / "new")
    assert (one.ids[order] == other.ids).all()
    assert one.fingerprint == other.fingerprint
    assert (one.fetch(other.ids) == other.read(np.arange(10))).all()


def test_class_names_come_from_hub_metadata(tmp_path: Path) -> None:
    about = {"info": {"features": {"label": {"names": ["cat", "dog", "cow"], "_type": "ClassLabel"}}}}
    path = hub_parquet(
        tmp_path / "a.parquet", [png(i) for i in pictures(4)], [0, 1, 0, 1], {"huggingface": json.dumps(about)}
    )
    assert wn_open(path).classes == ("cat", "dog", "cow")


def test_opening_decodes_nothing_and_reading_decodes_once(
    hub: tuple[Path, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded = []
    real = encoded.decode
    monkeypatch.setattr(encoded, "decode", lambda *a: decoded.append(1) or real(*a))
    source = wn_open(hub[0])
    assert source.ids.size == 10
    assert decoded == []
    source.read(np.array([3, 3, 5]))
    source.read(np.array([5, 3]))
    assert len(decoded) == 2


def test_images_beyond_the_memory_limit_are_decoded_each_time(
    hub: tuple[Path, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "PICTURES", 10)
    source = wn_open(hub[0])
    assert (source.read(np.array([8, 1])) == hub[1][[8, 1]].transpose(0, 3, 1, 2)).all()


def test_each_row_group_is_read_once_a_call_and_kept(
    hub: tuple[Path, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = []
    real = pq.ParquetFile.read_row_group
    monkeypatch.setattr(pq.ParquetFile, "read_row_group", lambda self, i, **k: reads.append(i) or real(self, i, **k))
    row_groups._groups.clear()
    source = wn_open(hub[0])
    source.read(np.array([9, 0, 1, 8, 2]))
    source.read(np.array([3, 9]))
    assert sorted(reads) == [0, 2]


@pytest.mark.parametrize("kept", [1 << 20, 2000])
def test_a_pass_over_more_than_fits_keeps_only_where_it_is(
    tmp_path: Path, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.random.default_rng(0).normal(size=(400, 3)).astype(np.float32)
    pq.write_table(pa.table({f"f{i}": values[:, i] for i in range(3)}), tmp_path / "t.parquet", row_group_size=20)
    monkeypatch.setattr("winnow.sources.parquet.HELD", 0)
    monkeypatch.setattr(row_groups, "KEPT", kept)
    source = wn_open(tmp_path / "t.parquet")
    rest = np.delete(np.arange(400), [7, 70, 303])
    for positions, held in ((np.arange(400), 1), (np.random.default_rng(1).permutation(400), 20), (rest, 1)):
        row_groups._groups.clear()
        assert (source.read(positions) == values[positions]).all()
        assert len(row_groups._groups._held) == (held if kept == 2000 else 20)


@pytest.mark.parametrize("kept", [0, 1 << 20])
def test_numeric_parquet_by_row_group_or_streamed(tmp_path: Path, kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    table = pa.table({**{f"f{i}": values[:, i] for i in range(3)}, "y": np.linspace(0, 1, 50)})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=7)
    monkeypatch.setattr("winnow.sources.parquet.HELD", 0)
    monkeypatch.setattr(row_groups, "KEPT", kept)
    source = wn_open(tmp_path / "t.parquet")
    where = np.random.default_rng(1).permutation(50)
    assert (source.task, source.columns) == ("regression", ("f0", "f1", "f2"))
    assert (source.read(where) == values[where]).all()


def test_numeric_parquet_matches_the_frame(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(50, 3))
    table = pa.table(
        {**{f"f{i}": values[:, i] for i in range(3)}, "id": [f"n{i}" for i in range(50)], "label": ["a", "b"] * 25}
    )
    pq.write_table(table, tmp_path / "t.parquet")
    pq.write_table(table.drop(["id"]), tmp_path / "u.parquet", row_group_size=8)
    source = wn_open(tmp_path / "t.parquet")
    assert source.columns == ("f0", "f1", "f2")
    assert source.ids[3] == "n3"
    assert (source.read(np.arange(50)) == values.astype(np.float32)).all()
    assert wn_open(tmp_path / "u.parquet").fingerprint == wn_open(table.drop(["id"])).fingerprint


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.tsv", "t.jsonl", "t.jsonl.gz"])
def test_arrow_opens_text_files_itself(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # With a file of Python, a thread of arrow that lets go of it while Python ends aborts the process.
    rows = '{"a": 1, "y": 0}\n{"a": 2, "y": 1}\n' if "jsonl" in name else "a\ty\n1\t0\n2\t1\n"
    packed = gzip.compress(rows.encode()) if name.endswith(".gz") else rows.encode()
    (tmp_path / name).write_bytes(packed)
    given: list[Any] = []
    for module, function in ((pyarrow.csv, "read_csv"), (pyarrow.json, "read_json")):
        original = getattr(module, function)
        monkeypatch.setattr(
            module, function, lambda file, real=original, **how: given.append(file) or real(file, **how)
        )
    source = wn_open(tmp_path / name)
    assert source.read(np.arange(2)).ravel().tolist() == [1.0, 2.0]
    assert all(type(file) in (pa.OSFile, pa.CompressedInputStream) for file in given)
    assert given


def test_opening_parquet_imports_neither_pandas_nor_torch(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1.0, 2.0], "b": [True, False], "y": [0, 1]}), tmp_path / "t.parquet")
    code = (
        "import sys; from winnow.sources.open import open; import numpy as np; "
        "source = open(sys.argv[1]); source.read(np.arange(2)); source.ids; "
        "print(sorted({'pandas', 'torch', 'datasets', 'sklearn'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "t.parquet")], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_parquet_sources_pickle_small(hub: tuple[Path, np.ndarray]) -> None:
    source = wn_open(hub[0])
    source.read(np.arange(10))
    back = pickle.loads(pickle.dumps(source))
    assert len(pickle.dumps(source)) < 5000
    assert (back.read(np.arange(10)) == source.read(np.arange(10))).all()


def test_broken_rows_are_refused_when_met_or_skipped_with_a_record(tmp_path: Path) -> None:
    data = [png(image) for image in pictures(6)]
    data[2], data[4] = b"no image", data[4][:40]
    path = hub_parquet(tmp_path / "a.parquet", data, [0, 1, 0, 1, 0, 1])
    source = wn_open(path)
    assert source.read(np.array([0, 1])).shape == (2, 3, 6, 5)
    with pytest.raises(DataError, match=r"a.parquet row 2 cannot be read"):
        source.read(np.arange(6))
    with pytest.warns(UserWarning, match=r"2 of 6 images .* row 2, .* row 4"):
        kept = wn_open(path, unreadable="skip")
    assert len(kept) == 4
    assert kept.origin["skipped"]["count"] == 2
    assert kept.labels.tolist() == [0, 1, 1, 1]
    assert kept.read(np.arange(4)).shape == (4, 3, 6, 5)


def test_image_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images = pictures(6)
    write_folder(tmp_path / "data", {"cat": images[:4], "dog": images[4:]})
    decoded = []
    real = image_folder.decode
    monkeypatch.setattr(image_folder, "decode", lambda *a: decoded.append(1) or real(*a))
    source = wn_open(tmp_path / "data")
    assert source.ids.tolist() == ["cat/0.png", "cat/1.png", "cat/2.png", "cat/3.png", "dog/0.png", "dog/1.png"]
    assert decoded == []
    assert (source.classes, source.labels.tolist()) == (("cat", "dog"), [0, 0, 0, 0, 1, 1])
    assert (source.fetch(["dog/1.png"])[0] == images[5].transpose(2, 0, 1)).all()
    assert len(wn_open(tmp_path / "data", task="unlabelled")) == 6
    assert wn_open(tmp_path / "data" / "cat").task == "unlabelled"
    assert (pickle.loads(pickle.dumps(source)).read(np.array([2])) == source.read(np.array([2]))).all()


def test_image_folder_splits(tmp_path: Path) -> None:
    for split, n in (("train", 3), ("val", 2)):
        write_folder(tmp_path / split, {"cat": pictures(n), "dog": pictures(n, seed=1)})
    assert len(wn_open(tmp_path)) == 6
    test = wn_open(tmp_path, split="test")
    assert (len(test), test.origin["split"], test.ids[0]) == (4, "validation", "val/cat/0.png")
    with pytest.raises(NotFoundError, match="not divided"):
        wn_open(tmp_path / "train", split="test")


def test_image_folder_with_broken_and_mixed_files(tmp_path: Path) -> None:
    root = write_folder(tmp_path / "data", {"cat": pictures(3), "dog": pictures(3, channels=1)})
    (root / "cat" / "1.png").write_bytes(b"\x89PNG broken")
    (root / "cat" / "notes.txt").write_text("not an image")
    source = wn_open(root)
    assert source.origin["other_files"] == 1
    assert source.fetch(["dog/0.png"]).shape == (1, 3, 6, 5)  # grey becomes RGB like the first
    with pytest.raises(DataError, match=r"image cat/1\.png cannot be read"):
        source.fetch(["cat/1.png"])
    with pytest.warns(UserWarning, match=r"1 of 6 images .*cat/1\.png"):
        kept = wn_open(root, unreadable="skip")
    assert kept.origin["skipped"] == {"count": 1, "names": ["cat/1.png"]}
    (root / "dog" / "0.png").write_bytes(png(pictures(1, 9, 9)[0]))
    with pytest.raises(DataError, match=r"dog/0\.png is 9 x 9 pixels but the first image is 5 x 6"):
        wn_open(root).fetch(["dog/0.png"])
    assert wn_open(root, size=7).fetch(["dog/0.png"]).shape == (1, 3, 7, 7)


def test_skipping_finds_nothing_wrong_with_good_files(tmp_path: Path) -> None:
    root = write_folder(tmp_path / "data", {"cat": pictures(3), "dog": pictures(3, seed=1)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "skipped" not in wn_open(root, unreadable="skip").origin


def test_palette_images_with_transparency(tmp_path: Path) -> None:
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
        picture = Image.fromarray(pictures(1)[0]).convert("P")
        out = io.BytesIO()
        picture.save(out, "PNG", transparency=bytes(range(200)))
        (tmp_path / name / "a.png").write_bytes(out.getvalue())
    assert wn_open(tmp_path).read(np.array([0, 1])).shape == (2, 3, 6, 5)


@pytest.mark.parametrize("zipped", [True, False])
def test_idx(tmp_path: Path, zipped: bool) -> None:
    root = mnist_folder(tmp_path / "mnist", zipped=zipped)
    source = wn_open(root)
    assert (source.name, source.shape, source.classes) == ("mnist", (1, 6, 5), ("0", "1", "2"))
    assert (source.read(np.array([3]))[0, 0] == pictures(12, channels=1, seed=1)[3]).all()
    assert (wn_open(root, split="test").read(np.array([3]))[0, 0] == pictures(12, channels=1, seed=2)[3]).all()
    file = root / f"t10k-images-idx3-ubyte{'.gz' if zipped else ''}"
    assert wn_open(file).fingerprint == wn_open(root, split="test").fingerprint
    assert len(pickle.dumps(source)) < 4000
    raw = mnist_folder(tmp_path / "MNIST" / "raw", zipped=zipped)
    assert wn_open(raw.parent).fingerprint == source.fingerprint


def test_idx_files_without_labels_are_unlabelled(tmp_path: Path) -> None:
    idx(tmp_path / "train-images-idx3-ubyte", pictures(4, channels=1))
    assert wn_open(tmp_path).task == "unlabelled"


def test_cifar_python_and_binary_agree(tmp_path: Path) -> None:
    images = cifar10_folder(tmp_path / "cifar-10-batches-py")
    source = wn_open(tmp_path)
    assert (source.classes, source.shape) == (("cat", "dog", "cow"), (3, 32, 32))
    assert (source.read(np.arange(12)) == images).all()
    assert len(wn_open(tmp_path, split="test")) == 6
    root = tmp_path / "binary"
    root.mkdir()
    labels = (np.arange(12) % 6 % 3).astype(np.uint8)
    records = np.concatenate([labels[:, None], images.reshape(12, -1)], axis=1)
    records[:6].tofile(root / "data_batch_1.bin")
    records[6:].tofile(root / "data_batch_2.bin")
    (root / "batches.meta.txt").write_text("cat\ndog\ncow\n\n")
    assert wn_open(root).fingerprint == source.fingerprint
    with pytest.raises(NotFoundError):
        wn_open(root, split="test")


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_cifar100_saved_again_by_python3(tmp_path: Path, protocol: int) -> None:
    rows = np.random.default_rng(0).integers(0, 256, (6, 3072), dtype=np.uint8)
    batch = {b"data": rows, b"fine_labels": [0, 1, 2, 3, 4, 5], b"coarse_labels": [0, 0, 0, 1, 1, 1]}
    names = {b"fine_label_names": list("abcdef"), b"coarse_label_names": ["x", "y"]}
    for word, content in (("train", batch), ("meta", names)):
        (tmp_path / word).write_bytes(pickle.dumps(content, protocol=protocol))
    source = wn_open(tmp_path)
    assert source.classes == tuple("abcdef")
    assert (source.read(np.arange(6)).reshape(6, -1) == rows).all()
    assert wn_open(tmp_path, labels="coarse").classes == ("x", "y")


class _Evil:
    def __reduce__(self) -> Any:
        return (exec, ("import builtins; builtins.winnow_was_owned = True",))


@pytest.mark.parametrize(
    "payload",
    [
        pickle.dumps({b"data": _Evil(), b"labels": [0, 1]}),
        pickle.dumps(_Evil(), protocol=0),
        pickle.dumps({"data": np.array([_Evil()], dtype=object)}),
        b"\x80\x02}(U\x04datacposix\nsystem\nU\x09touch pwn\x85Ru.",
        b"\x80\x02cnumpy\ndtype\n(U\x01OK\x00K\x01tRb.",
        b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93\x8c\x031+1\x85R.",
        b"\x80\x02(cnumpy\nndarray\no.",
        b"not a pickle at all",
        b"",
    ],
)
def test_a_malicious_batch_is_refused_and_runs_nothing(tmp_path: Path, payload: bytes) -> None:
    import builtins

    (tmp_path / "data_batch_1").write_bytes(payload)
    with pytest.raises(DataError):
        batch_pickles.read_batch(tmp_path / "data_batch_1")
    with pytest.raises(DataError):
        wn_open(tmp_path)
    assert not hasattr(builtins, "winnow_was_owned")


def test_a_file_changed_after_opening_is_noticed(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.eye(3))
    source = wn_open(tmp_path / "a.npy")
    memory._files.clear()
    np.save(tmp_path / "a.npy", np.eye(4))
    with pytest.raises(DataError, match="changed or removed after it was opened"):
        source.read(np.array([0]))


@pytest.mark.parametrize("name", ["a.txt", "a.png", "a.parquet", "a.tar"])
def test_hidden_folders_are_not_looked_into(tmp_path: Path, name: str) -> None:
    (tmp_path / ".venv" / "deep").mkdir(parents=True)
    (tmp_path / ".venv" / "deep" / name).write_bytes(b"x")
    with pytest.raises(DataError, match="holds nothing winnow reads"):
        wn_open(tmp_path)


def test_a_folder_of_very_many_folders_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        (tmp_path / str(number)).mkdir()
    monkeypatch.setattr(splits, "FOLDERS", 4)
    with pytest.raises(DataError, match="has more than 4 folders below it; open the one that holds the data"):
        wn_open(tmp_path)


def test_ids_beyond_64_bits_are_read_exactly(tmp_path: Path) -> None:
    ids = [str(10**19 + k) for k in range(4)]  # as floats, all the same
    rows = "".join(f"{name},{k}.5,{k % 2}\n" for k, name in enumerate(ids))
    (tmp_path / "rows.csv").write_text(f"id,x,label\n{rows}")
    assert wn_open(str(tmp_path / "rows.csv")).ids.tolist() == ids
    (tmp_path / "named.csv").write_text(f"hash,x,label\n{rows}")
    assert wn_open(str(tmp_path / "named.csv"), ids="hash").ids.tolist() == ids
    (tmp_path / "floats.csv").write_text("id,x,label\n1.5,0,a\n2.5,1,b\n")
    with pytest.raises(DataError, match="must hold whole numbers or text; it holds double"):
        wn_open(str(tmp_path / "floats.csv"))
