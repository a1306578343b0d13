"""The study of fine-tuning, in small: a transformer pretrained on the spot, and pretraining on halves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from studies.finetuning import text, transfer
from studies.finetuning.images import found
from studies.parts import Asked
from studies.shelf import Shelf
from studies.winning.cells import Cell, Ends
from studies.winning.data import Setting

import winnow as wn
from winnow.artefacts.soft_labels import SoftLabels
from winnow.models.weight_files import read_weights

WORDS = "the film is good and not bad but the plot was dull while a fine cast made it great"


def sentences(n: int) -> list[str]:
    rng, words = np.random.default_rng(0), WORDS.split()
    return [" ".join(rng.choice(words, rng.integers(3, 9))) for _ in range(n)]


def test_a_transformer_is_pretrained_once_and_can_be_fine_tuned(tmp_path: Path) -> None:
    first, last = text.pretrained(tmp_path, sentences(60), 80, steps=40, batch=16)
    assert last < first - 0.3  # it learned something about hidden words
    written = (tmp_path / "model.safetensors").stat().st_mtime_ns
    assert text.pretrained(tmp_path, [], 80, steps=40) == (first, last)
    assert (tmp_path / "model.safetensors").stat().st_mtime_ns == written
    source = wn.open((sentences(8), np.arange(8) % 2))
    tuned = wn.models.build(f"hf:{tmp_path}", classes=2, shape=source.shape, kind="text")
    own = read_weights(tmp_path / "model.safetensors", "bert")
    name, value = next((n, v) for n, v in tuned.named_parameters() if n.endswith("word_embeddings.weight"))
    np.testing.assert_array_equal(value.detach(), own[name.split("bert.")[-1]])


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    return Asked(Shelf(tmp_path / "shelf", "finetuning transfer"), tmp_path, (), 1, True)


def test_halves_are_pretrained_from_the_same_weights(asked: Asked) -> None:
    whole, test = wn.open("digits", limit=60), wn.open("digits", split="test", limit=40)
    setting = Setting("half", transfer.NETWORK, 1)
    soft = SoftLabels(whole.ids, np.full((60, 10), 0.1), whole.classes, weight=0.5)
    half = np.arange(30)
    made = {
        name: transfer.learned(asked, setting, whole, test, soft, name, arm, 0)
        for name, arm in {
            "none": transfer.Pretraining(half, 0),
            "hard": transfer.Pretraining(half, 30),
            "soft": transfer.Pretraining(half, 30, True),
        }.items()
    }
    weights = {name: read_weights(file, name) for name, (file, _) in made.items()}
    start = wn.models.build(transfer.NETWORK, classes=10, shape=whole.shape, seed=0).state_dict()
    assert all((weights["none"][key] == value).all() for key, value in start.items())
    assert any((weights["hard"][key] != weights["soft"][key]).any() for key in start)
    assert all(0 <= accuracy <= 1 for _, accuracy in made.values())
    again = transfer.learned(asked, setting, whole, test, soft, "hard", transfer.Pretraining(half, 30), 0)
    assert again == made["hard"]


def test_what_was_found_names_a_fall_back() -> None:
    gap = Ends(0.01, -0.005, 0.025, 0.1)
    arms = ("selected", "soft random", "soft selected", "everything", "soft everything")
    cell = Cell("probe", 0.3, 3, 10, "tilted", False, -0.01, 0.7, {}, dict.fromkeys(arms, gap), gap, gap, gap, {}, 100)
    assert "the trial turned the candidate down" in found([cell])[1]
    assert "+1.00 (-0.50 to +2.50)" in found([cell])[1]
