"""Datasets of dictionaries, datasets that can only be iterated, and WebDataset shards."""

from __future__ import annotations

import io
import json
import pickle
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
import torch
from torch.utils.data import Dataset, IterableDataset

from winnow import testing
from winnow.sources.open import open as wn_open

from .writers import pictures, png, tar

ROWS = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32)


class Listed(Dataset):
    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, position: int) -> Any:
        return self.items[position]


class Streamed(IterableDataset):
    def __init__(self, items: list[Any]) -> None:
        self.items, self.passes = items, 0

    def __iter__(self) -> Any:
        self.passes += 1
        return iter(self.items)


def dictionaries() -> list[dict[str, Any]]:
    return [
        {"pixel_values": torch.from_numpy(row), "labels": torch.tensor(k % 3), "path": str(k)}
        for k, row in enumerate(ROWS)
    ]


def test_items_may_be_dictionaries() -> None:
    source = wn_open(Listed(dictionaries()))
    assert np.array_equal(source.read(np.arange(9)), ROWS)
    assert source.labels.tolist() == [k % 3 for k in range(9)]
    assert (source.origin["input"], source.origin["labels"]) == ("pixel_values", "labels")
    own = [{"left": row, "right": -row, "kind": "ab"[k % 2]} for k, row in enumerate(ROWS)]
    named = wn_open(Listed(own), columns="right", labels="kind")
    assert np.array_equal(named.read(np.arange(9)), -ROWS)
    assert named.classes == ("a", "b")
    assert wn_open(Listed(dictionaries()), task="unlabelled").labels is None
    back = pickle.loads(pickle.dumps(source))
    assert np.array_equal(back.read(np.arange(9)), ROWS)


def test_dictionaries_and_pairs_may_hold_text() -> None:
    words = ["a fine film", "dull", "a fine cast", "no"]
    for items in (
        [{"text": word, "label": k % 2} for k, word in enumerate(words)],
        [(word, k % 2) for k, word in enumerate(words)],
    ):
        source = wn_open(Listed(items))
        assert (source.kind, source.texts(), source.labels.tolist()) == ("text", words, [0, 1, 0, 1])


@pytest.mark.parametrize("form", ["pairs", "dictionaries"])
def test_a_torch_stream_is_read_once(form: str, tmp_path: Path) -> None:
    items = dictionaries() if form == "dictionaries" else [(row, k % 3) for k, row in enumerate(ROWS)]
    stream = Streamed(items)
    source = wn_open(stream, cache=tmp_path / "cache")
    assert np.array_equal(source.read(np.array([4, 1])), ROWS[[4, 1]])
    assert source.labels.tolist() == [k % 3 for k in range(9)]
    assert stream.passes == 1
    assert np.array_equal(np.load(tmp_path / "cache" / "X.npy"), ROWS)
    assert source.ids.tolist() == wn_open((ROWS, source.labels)).ids.tolist()
    assert np.array_equal(pickle.loads(pickle.dumps(source)).read(np.arange(9)), ROWS)


def test_streams_of_images_texts_and_inputs_alone() -> None:
    images = pictures(7)
    source = wn_open(Streamed([(image, k % 2) for k, image in enumerate(images)]))
    assert (source.kind, source.shape) == ("image", (3, 6, 5))
    assert np.array_equal(source.read(np.arange(7)), images.transpose(0, 3, 1, 2))
    assert wn_open(Streamed(["one", "two words"])).texts() == ["one", "two words"]
    assert wn_open(Streamed(list(ROWS))).task == "unlabelled"


def test_a_temporary_cache_is_removed_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    last = []
    monkeypatch.setattr("atexit.register", lambda *call: last.append(call))
    folder = Path(wn_open(Streamed(list(ROWS))).read.path).parent
    (remove, *arguments), *_ = last
    assert folder.is_dir()
    remove(arguments[0], -1)  # as in a forked worker, which must not remove it
    assert folder.is_dir()
    remove(*arguments)
    assert not folder.exists()


def test_hf_streams_are_read_once_to_parquet(tmp_path: Path) -> None:
    table = datasets.Dataset.from_dict({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"], "label": [0, 1, 0]})
    stream = table.to_iterable_dataset()
    source = wn_open(stream, cache=tmp_path / "cache")
    assert (source.origin["adapter"], source.fingerprint) == ("hf stream", wn_open(table).fingerprint)
    assert [item.suffix for item in (tmp_path / "cache").iterdir()] == [".parquet"]
    both = datasets.IterableDatasetDict({"train": stream, "test": table.select([0, 1]).to_iterable_dataset()})
    assert (len(wn_open(both)), len(wn_open(both, split="test"))) == (3, 2)


def test_hf_streams_of_images_keep_their_class_names() -> None:
    kinds = datasets.ClassLabel(names=["cat", "dog"])
    images = [{"bytes": png(image), "path": None} for image in pictures(4)]
    features = datasets.Features({"image": datasets.Image(), "label": kinds})
    whole = datasets.Dataset.from_dict({"image": images, "label": [0, 1, 0, 1]}, features=features)
    source = wn_open(whole.to_iterable_dataset())
    assert (source.kind, source.classes) == ("image", ("cat", "dog"))
    assert np.array_equal(source.read(np.arange(4)), pictures(4).transpose(0, 3, 1, 2))


def shards(root: Path) -> Path:
    for number, images in enumerate((pictures(4), pictures(3, seed=1))):
        members: dict[str, bytes] = {}
        for k, image in enumerate(images):
            members |= {f"{number}{k}.png": png(image), f"{number}{k}.cls": str(k % 2).encode()}
        tar(root / f"train-{number:05d}.tar", members)
    tar(
        root / "test-00000.tar",
        {"t.png": png(pictures(1)[0]), "t.cls": b"1", "u.png": png(pictures(1)[0]), "u.cls": b"0"},
    )
    return root


def test_tar_shards_of_images(tmp_path: Path) -> None:
    source = wn_open(shards(tmp_path / "set"))
    assert source.ids.tolist() == ["00", "01", "02", "03", "10", "11", "12"]
    assert np.array_equal(
        source.read(np.array([5, 2])), np.stack([pictures(3, seed=1)[1], pictures(4)[2]]).transpose(0, 3, 1, 2)
    )
    assert source.labels.tolist() == [0, 1, 0, 1, 0, 1, 0]
    assert (source.origin["input"], source.origin["labels"]) == ("png", "cls")
    assert len(wn_open(tmp_path / "set", split="test")) == 2
    testing.check_source(lambda: wn_open(tmp_path / "set"))


def test_ids_do_not_depend_on_shards(tmp_path: Path) -> None:
    members = {
        f"{k}.{end}": data for k, row in enumerate(ROWS) for end, data in (("npy", npy(row)), ("json", label(k)))
    }
    whole = wn_open(tar(tmp_path / "whole.tar", members))
    names = list(members)
    tar(tmp_path / "parts" / "0.tar", {name: members[name] for name in names[6:]})
    tar(tmp_path / "parts" / "1.tar", {name: members[name] for name in names[:6]})
    parts = wn_open(tmp_path / "parts")
    assert set(parts.ids) == set(whole.ids)
    assert parts.fingerprint == whole.fingerprint
    assert np.array_equal(parts.fetch(whole.ids), ROWS)
    assert (whole.origin["labels"], whole.classes) == ("json: label", ("a", "b"))
    assert wn_open(tmp_path / "parts", labels="weight").task == "regression"


def npy(row: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, row)
    return out.getvalue()


def label(number: int) -> bytes:
    return json.dumps({"label": "ab"[number % 2], "weight": number / 2}).encode()


def test_tar_shards_of_text(tmp_path: Path) -> None:
    members = {"a/1.txt": b"a fine film", "a/1.cls": b"good", "a/2.txt": b"dull", "a/2.cls": b"bad"}
    source = wn_open(tar(tmp_path / "t.tar", members))
    assert (source.kind, source.texts(), source.classes, source.ids.tolist()) == (
        "text", ["a fine film", "dull"], ("bad", "good"), ["a/1", "a/2"],
    )  # fmt: skip


def test_names_in_a_tar_are_never_paths(tmp_path: Path) -> None:
    evil = tar(
        tmp_path / "in" / "e.tar",
        {"../../out.txt": b"x", "../../out.cls": b"0", "/etc/b.txt": b"y z", "/etc/b.cls": b"1"},
    )
    source = wn_open(evil)
    assert source.texts() == ["x", "y z"]
    assert sorted(item.name for item in tmp_path.rglob("*")) == ["e.tar", "in"]
