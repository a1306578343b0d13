"""Fine-tuning by several workers, from the command line: the same numbers as in one process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import winnow as wn
from tests.cli.conftest import Said
from tests.models.test_text_transformers import reviews
from tests.tiny_transformers import bert_folder
from winnow.artefacts import Signals
from winnow.models import FineTune

Winnow = Callable[..., Said]


def test_a_transformer_from_a_folder_is_frozen_and_trained_by_two_workers(winnow: Winnow, tmp_path: Path) -> None:
    folder = bert_folder(tmp_path / "bert")
    texts, labels = reviews(40)
    lines = [f"{text},{label}" for text, label in zip(texts, labels, strict=True)]
    (tmp_path / "reviews.csv").write_text("\n".join(["text,label", *lines]))
    data = [tmp_path / "reviews.csv", "--text", "text", "--labels", "label"]
    how = ["--model", f"hf:{folder}", "--freeze", "backbone", "--epochs", 2, "--seeds", 2, "--workers", 2]
    said = winnow("observe", *data, *how, "--out", tmp_path / "run")
    assert (said.code, said.err) == (0, "")
    found = Signals.load(tmp_path / "run" / "signals.safetensors")
    tuned = FineTune(f"hf:{folder}", freeze="backbone")
    opened = wn.open(tmp_path / "reviews.csv", text="text", labels="label")
    wanted = wn.observe(opened, tuned, wn.Recipe(epochs=2), 2, engine=wn.Local(workers=1))
    assert found.array("margins").tobytes() == wanted.array("margins").tobytes()
    assert found.provenance["parameters"]["model"]["freeze"] == ["backbone"]
    assert (found.array("margins")[0] != found.array("margins")[1]).any()  # each seed has a head of its own
