"""A small transformer on SST-2, pretrained on the spot without labels and then fine-tuned through `hf:PATH`.

The phrases that are not used for the study pretrain a BERT of two layers by guessing hidden words; no label is seen.
SST-2 has many phrases of the same sentence, so the words of the study's phrases are mostly known to it, as they would
be to a large pretrained model.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

import winnow as wn
from winnow.core import seeds
from winnow.training.soft_loss import example_losses

from ..parts import Asked, Part
from ..winning.data import Setting
from ..winning.publishing import table
from .images import found, measured

KEEP = 0.3
HIDDEN, UNSEEN = 0.15, -100  # share of tokens that is hidden; the label of those that are not
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def run(asked: Asked) -> Part:
    """Pretrain once, then prune and fine-tune."""
    phrases, words, steps, epochs = (200, 500, 4, 1) if asked.quick else (6_000, 6_000, 1_500, 3)
    whole, test = wn.open("sst2"), wn.open("sst2", split="test")
    source = wn.open("sst2", limit=phrases)
    others = np.flatnonzero(~np.isin(whole.ids, source.ids))
    folder = asked.out / "pretrained"
    losses = pretrained(folder, [str(text) for text in whole.read_texts(others)], words, steps)
    setting = Setting("fine-tuned text", f"hf:{folder}", epochs, batch=32, lr=5e-4)
    cell = measured(setting, source, test, KEEP, asked)
    return Part(
        "text",
        f"SST-2, {phrases:,} phrases; BERT of two layers and 128 numbers per word, pretrained by {steps:,} steps on "
        f"{others.size:,} other phrases (loss of a hidden word {losses[0]:.2f} at first, {losses[1]:.2f} at the end), "
        f"then {epochs} epochs at a rate of 0.0005; {asked.seeds} seeds, {len(test)} test sentences.",
        table([cell]),
        found([cell]),
    )


def pretrained(folder: Path, texts: list[str], words: int, steps: int, batch: int = 64) -> tuple[float, float]:
    """Write a tokenizer and an encoder as `save_pretrained` does; return the loss at first and at the end."""
    record = folder / "losses.json"
    if record.exists():
        first, last = json.loads(record.read_text())
        return first, last
    import transformers

    reader = tokenizer(texts, words)
    torch.manual_seed(seeds.number(0, "finetuning", "pretrained"))
    config = transformers.BertConfig(
        vocab_size=len(reader),
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=256,
        max_position_embeddings=64,
    )
    network = transformers.BertForMaskedLM(config).train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=0.01)
    falling = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-3, total_steps=steps)
    rng = seeds.stream(0, "finetuning", "hidden words")
    losses = []
    for _ in range(steps):
        losses.append(_step(network, reader, [texts[i] for i in rng.integers(0, len(texts), batch)], rng, optimizer))
        falling.step()
    network.bert.save_pretrained(folder)
    reader.save_pretrained(folder)
    ends = float(np.mean(losses[:20])), float(np.mean(losses[-50:]))
    record.write_text(json.dumps(ends))
    return ends


def _step(network: Any, reader: Any, texts: list[str], rng: np.random.Generator, optimizer: Any) -> float:
    """One step on the hidden words of a batch: only their outputs are computed."""
    read = reader(texts, padding=True, truncation=True, max_length=64, return_tensors="pt")
    ids = read["input_ids"]
    hidden = torch.from_numpy(rng.random(ids.shape) < HIDDEN) & (ids >= len(SPECIAL))
    if not bool(hidden.any()):
        return float("nan")
    shown = ids.masked_fill(hidden, reader.mask_token_id)
    states = network.bert(input_ids=shown, attention_mask=read["attention_mask"]).last_hidden_state
    loss = example_losses(network.cls(states[hidden]), ids[hidden]).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return float(loss.detach())


def tokenizer(texts: list[str], words: int) -> Any:
    """Pieces of words, as BERT reads them, learned from these texts."""
    import transformers
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.train_from_iterator(texts, trainers.WordPieceTrainer(vocab_size=words, special_tokens=SPECIAL))
    ends = [(mark, made.token_to_id(mark)) for mark in ("[CLS]", "[SEP]")]
    made.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    named = {f"{word}_token": f"[{word.upper()}]" for word in ("pad", "unk", "cls", "sep", "mask")}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=64, **named)
