from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from tests.tiny_transformers import bert_folder, gpt_folder, tokenizer

import winnow as wn
from winnow.models.causal_model import CausalModel
from winnow.models.transformer_folder import loaded_tokenizer

PAIRS = [
    ("what is one plus two ?", "three ."),
    ("what is a film ?", "a story is a film . the plot is not the cast"),
    ("what ?", "good"),
    ("a very good film", ""),
]
CPU = torch.device("cpu")


def by_hand(folder: Path, prompt: str, response: str) -> float:
    """One forward pass per pair, and the loss token by token."""
    model, marks = transformers.AutoModelForCausalLM.from_pretrained(folder).eval(), tokenizer()
    before = [marks.cls_token_id, *marks(prompt, add_special_tokens=False)["input_ids"]]
    answer = marks(response, add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        chances = model(torch.tensor([[*before, *answer]])).logits[0].log_softmax(1)
    losses = [-float(chances[len(before) + place - 1, token]) for place, token in enumerate(answer)]
    return math.fsum(losses) / len(losses) if losses else 0.0


def test_losses_are_those_of_the_response_with_and_without_the_prompt(tmp_path: Path) -> None:
    folder = gpt_folder(tmp_path / "gpt")
    source = wn.open(PAIRS, ids=["a", "b", "c", "d"])
    found = wn.observe(source, f"hf:{folder}", want=("token_losses",))
    wanted = [by_hand(folder, *pair) for pair in PAIRS]
    alone = [by_hand(folder, "", response) for _, response in PAIRS]
    np.testing.assert_allclose(found.array("token_losses"), wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.array("token_losses_alone"), alone, rtol=1e-4, atol=1e-5)
    ratio = wn.score("instruction_difficulty", found)
    np.testing.assert_allclose(ratio.values[:3], np.array(wanted[:3]) / alone[:3], rtol=1e-4)
    assert ratio.values[3] == 1
    np.testing.assert_allclose(wn.score("token_loss", found).values, wanted, rtol=1e-4, atol=1e-5)


def test_a_text_alone_is_all_response_and_long_ones_are_cut(tmp_path: Path) -> None:
    folder = gpt_folder(tmp_path / "gpt")
    judge = CausalModel(f"hf:{folder}", CPU)
    given, alone = judge.losses(["a good film"])
    assert given == alone == pytest.approx(by_hand(folder, "", "a good film"), rel=1e-4)
    long_prompt = " ".join(["film"] * 100)
    (cut,), _ = judge.losses([f"{long_prompt} \u241e a good plot"])
    assert cut == pytest.approx(by_hand(folder, " ".join(["film"] * 28), "a good plot"), rel=1e-4)
    (whole,), (same,) = judge.losses([f"what ? \u241e {long_prompt}"])
    assert whole == same  # no room is left for the prompt
    assert loaded_tokenizer(f"hf:{folder}").cls_token == "[CLS]"


def test_pruning_by_token_loss_needs_no_labels(tmp_path: Path) -> None:
    name = f"hf:{gpt_folder(tmp_path / 'gpt')}"
    rng = np.random.default_rng(0)
    words = ["film", "plot", "good", "dull", "one", "two", "story"]
    source = wn.open([(f"what is {place} ?", " ".join(rng.choice(words, 5))) for place in range(20)])
    subset = wn.prune(source, 0.5, method="token_loss+rank", model=name)
    losses = wn.observe(source, name, want="token_losses").array("token_losses")
    assert set(subset.ids) == set(source.ids[np.argsort(-losses)[:10]])
    assert wn.embed(source, name).embeddings.shape == (20, 24)


def test_a_network_that_looks_ahead_is_refused(tmp_path: Path) -> None:
    name = f"hf:{bert_folder(tmp_path / 'bert')}"
    with pytest.raises(wn.errors.InputError, match=r"must be a causal language model.*this one looks ahead") as caught:
        wn.observe(["a good film", "dull"], name, want=("token_losses",))
    assert "\n" not in str(caught.value)
