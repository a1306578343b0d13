"""Folders of tiny transformers with random weights, as `save_pretrained` writes them; nothing is downloaded."""

from __future__ import annotations

from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

TEXT = (
    "a an the is was not very film plot cast story good fine great lovely bad dull poor awful "
    "one two three four five six seven eight nine ten plus equals what ? ."
)
WORDS = TEXT.split()
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]


def tokenizer() -> transformers.PreTrainedTokenizerFast:
    """One token per word, with the marks of BERT."""
    vocabulary = {word: number for number, word in enumerate([*SPECIAL, *WORDS])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=32,
    )


def bert_folder(path: Path, seed: int = 0, classes: int | None = None) -> Path:
    """A BERT encoder of two layers, or a classifier."""
    torch.manual_seed(seed)
    config = transformers.BertConfig(
        vocab_size=len(SPECIAL) + len(WORDS),
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        **({} if classes is None else {"num_labels": classes}),
    )
    kind = transformers.BertModel if classes is None else transformers.BertForSequenceClassification
    kind(config).save_pretrained(path)
    tokenizer().save_pretrained(path)
    return path


def gpt_folder(path: Path, seed: int = 0) -> Path:
    """A GPT-2 of two layers."""
    torch.manual_seed(seed)
    config = transformers.GPT2Config(
        vocab_size=len(SPECIAL) + len(WORDS), n_positions=32, n_embd=24, n_layer=2, n_head=2,
        bos_token_id=2, eos_token_id=3,
    )  # fmt: skip
    transformers.GPT2LMHeadModel(config).save_pretrained(path)
    tokenizer().save_pretrained(path)
    return path
