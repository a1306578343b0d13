from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import Dataset, Subset, TensorDataset

from winnow.core.errors import DataError, NotFoundError
from winnow.sources import builtin, hf
from winnow.sources import encoded_images as encoded
from winnow.sources.open import open as wn_open

from .writers import cifar10_folder, mnist_folder, pictures, png


class Pictures(Dataset):
    """Counts how often an item is made, as a check on passes over the data."""

    def __init__(self, n: int = 6, target_transform: Any = None) -> None:
        self.targets = [number % 2 for number in range(n)]
        self.classes = ["cat", "dog"]
        self.target_transform = target_transform
        self.made = 0

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, position: int) -> tuple[Any, Any]:
        self.made += 1
        target = self.targets[position]
        target = target if self.target_transform is None else self.target_transform(target)
        return Image.fromarray(pictures(1, seed=position)[0]), target


def test_torch_dataset_of_pillow_images() -> None:
    data = Pictures()
    source = wn_open(data)
    assert data.made <= 3  # targets came from the attribute, not from a pass
    assert (source.kind, source.shape, source.classes) == ("image", (3, 6, 5), ("cat", "dog"))
    assert source.ids.tolist() == list(range(6))
    assert (source.fetch([4])[0] == pictures(1, seed=4)[0].transpose(2, 0, 1)).all()
    assert source.origin["labels"] == "targets"


def test_a_target_transform_forces_a_pass() -> None:
    source = wn_open(Pictures(target_transform=lambda target: f"class {target}"))
    assert source.classes == ("class 0", "class 1")
    assert source.origin["labels"] == "items"


def test_torch_tensors_subsets_and_bare_inputs() -> None:
    x, y = torch.arange(24.0).reshape(6, 4), torch.tensor([0, 1, 2, 0, 1, 2])
    source = wn_open(TensorDataset(x, y))
    assert (source.kind, source.origin["labels"], source.labels.tolist()) == ("table", "tensors", [0, 1, 2, 0, 1, 2])
    part = wn_open(Subset(TensorDataset(x, y), [5, 1, 3]))
    assert part.labels.tolist() == [2, 1, 0]
    assert (part.read(np.array([0]))[0] == x[5].numpy()).all()
    assert wn_open(TensorDataset(x)).task == "unlabelled"
    assert wn_open(TensorDataset(x, torch.rand(6))).task == "regression"
    assert wn_open(TensorDataset(x, y), task="unlabelled").labels is None
    back = pickle.loads(pickle.dumps(source))
    assert (back.read(np.arange(6)) == x.numpy()).all()


def test_items_of_another_shape_are_refused_by_position() -> None:
    class Ragged(Pictures):
        def __getitem__(self, position: int) -> tuple[Any, Any]:
            return np.zeros(3 + (position == 4)), self.targets[position]

    source = wn_open(Ragged())
    with pytest.raises(DataError, match=r"item 4 has \(4,\), the first one \(3,\)"):
        source.read(np.arange(6))


def hub(n: int = 8) -> datasets.Dataset:
    kinds = datasets.ClassLabel(names=["cat", "dog", "cow"])
    images = [{"bytes": png(image), "path": None} for image in pictures(n)]
    return datasets.Dataset.from_dict(
        {"image": images, "kind": [number % 3 for number in range(n)]},
        features=datasets.Features({"image": datasets.Image(), "kind": kinds}),
    )


def test_hf_images(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded = []
    real = hf.decode
    monkeypatch.setattr(hf, "decode", lambda *a: decoded.append(1) or real(*a))
    source = wn_open(hub())
    assert (source.shape, source.classes, source.origin["labels"]) == ((3, 6, 5), ("cat", "dog", "cow"), "kind")
    assert decoded == []
    assert (source.read(np.array([7, 2])) == pictures(8)[[7, 2]].transpose(0, 3, 1, 2)).all()
    shuffled = wn_open(hub().shuffle(seed=1))
    assert shuffled.fingerprint == source.fingerprint
    assert (shuffled.fetch(source.ids[:3]) == source.read(np.arange(3))).all()
    back = pickle.loads(pickle.dumps(source))
    assert (back.read(np.arange(8)) == source.read(np.arange(8))).all()


def test_hf_splits_tables_and_saved_folders(tmp_path: Path) -> None:
    table = datasets.Dataset.from_dict({"a": [1.0, 2.0, 3.0], "b": [1, 2, 3], "target": [0.1, 0.2, 0.3]})
    assert (wn_open(table).columns, wn_open(table).task) == (("a", "b"), "regression")
    both = datasets.DatasetDict({"train": hub(8), "test": hub(5)})
    assert (len(wn_open(both)), len(wn_open(both, split="test"))) == (8, 5)
    with pytest.raises(NotFoundError, match="no split 'other'"):
        wn_open(both, split="other")
    both.save_to_disk(tmp_path / "saved")
    saved = wn_open(tmp_path / "saved", split="test")
    assert (saved.name, len(saved)) == ("saved:test", 5)
    assert saved.fingerprint == wn_open(both, split="test").fingerprint


def test_hf_parquet_written_by_datasets_agrees(tmp_path: Path) -> None:
    hub().to_parquet(tmp_path / "train.parquet")
    source = wn_open(tmp_path / "train.parquet", labels="kind")
    assert source.fingerprint == wn_open(hub()).fingerprint
    assert encoded.class_names_in(datasets.Features({"a": datasets.Value("int8")}).arrow_schema, "b") == ()


def test_digits_split_is_fixed_and_stratified() -> None:
    train, test = wn_open("digits"), wn_open("digits", split="test")
    assert (len(train), len(test), train.shape, train.kind) == (1438, 359, (1, 8, 8), "image")
    assert not set(train.ids) & set(test.ids)
    assert np.abs(np.bincount(test.labels) - np.bincount(train.labels) / 4).max() <= 1
    assert train.read(np.arange(50)).max() == 255
    assert wn_open("digits", size=16).shape == (1, 16, 16)
    assert wn_open("digits", task="unlabelled").labels is None
    with pytest.raises(NotFoundError, match="no split 'validation'"):
        wn_open("digits", split="validation")


def test_named_data_is_found_in_winnow_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mnist_folder(tmp_path / "fashion-mnist")
    cifar10_folder(tmp_path / "cifar10")
    monkeypatch.setenv("WINNOW_DATA", str(tmp_path))
    source = wn_open("fashion-mnist", split="test")
    assert (source.name, source.classes[:2]) == ("fashion-mnist:test", ("T-shirt/top", "Trouser"))
    assert len(wn_open("cifar10")) == 12


def test_named_data_is_found_where_torchvision_and_keras_keep_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WINNOW_DATA", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotFoundError, match=r"'mnist' was not found; looked in .*\.cache/winnow/mnist.*data/MNIST"):
        wn_open("mnist")
    (tmp_path / ".keras" / "datasets").mkdir(parents=True)
    x, y = pictures(6, channels=1), np.arange(6) % 3
    np.savez(tmp_path / ".keras" / "datasets" / "mnist.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    assert wn_open("mnist", split="test").classes == tuple(map(str, range(10)))
    mnist_folder(tmp_path / "data" / "MNIST" / "raw")
    assert len(wn_open("mnist")) == 12
    assert builtin.NAMES == ("digits", "mnist", "fashion-mnist", "cifar10", "sst2")


def test_the_fingerprint_of_a_torch_dataset_knows_its_content() -> None:
    y = torch.tensor([0, 1, 0, 1])
    one, same, other = (wn_open(TensorDataset(x, y)) for x in (torch.zeros(4, 2), torch.zeros(4, 2), torch.ones(4, 2)))
    assert one.fingerprint == same.fingerprint != other.fingerprint
