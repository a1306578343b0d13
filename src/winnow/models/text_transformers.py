"""Networks of transformers for text: a classifier from a folder, and a sentence encoder. Each brings its own tokenizer.

Such a network reads strings, not winnow's hashed words: it has a method `token_ids`, which a `Feed` calls instead of
reading the source's own rows (`Feed.read_by`). Rows hold the tokenizer's ids plus one, with 0 for padding, as every row
of text in winnow. The representation of a text is the mean of the last hidden state over its tokens: most models have
no pooler, or one that was trained for something else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ..core.errors import DataError, InputError, NotDefinedError
from ..sources.tokens import LONGEST, SEPARATOR
from .transformer_folder import folder_of, loaded_model, loaded_tokenizer, settings_file

__all__ = [
    "SentenceEncoder",
    "TextTransformer",
    "gives_example_gradients",
    "needs_example_gradients",
    "reader_of",
    "text_transformer",
]

AT_ONCE = 32  # texts that are embedded together
SPREAD = 0.02  # standard deviation of a new head, if the folder does not say


class TextTransformer(nn.Module):
    """A classifier of transformers over rows of its own token ids.

    Parameters
    ----------
    transformer
        The network of transformers, which gives `logits`.
    tokenizer
        Its tokenizer.
    reads
        What identifies the tokenizer.
    """

    pooling = "mean over tokens"

    def __init__(self, transformer: nn.Module, tokenizer: Any, reads: str, longest: int = LONGEST) -> None:
        super().__init__()
        self.transformer, self.tokenizer, self.reads = transformer, tokenizer, reads
        config: Any = transformer.config
        limits = (tokenizer.model_max_length, getattr(config, "max_position_embeddings", None), longest)
        self.longest = int(min(limit for limit in limits if limit))
        self.pad = next(
            (one for one in (tokenizer.pad_token_id, tokenizer.eos_token_id, config.pad_token_id) if one is not None), 0
        )
        if config.pad_token_id is None:  # causal models find the last token of a text by it
            config.pad_token_id = self.pad
        self.two_types = getattr(config, "type_vocab_size", 0) > 1 and tokenizer.sep_token_id is not None

    @property
    def encoder(self) -> nn.Module:
        """The network without its head."""
        found: nn.Module = self.transformer.base_model  # type: ignore[assignment]
        return found

    @property
    def head_names(self) -> tuple[str, ...]:
        """Names of the layers of its head."""
        inner = {id(part) for part in self.encoder.modules()}
        return tuple(f"transformer.{name}" for name, part in self.transformer.named_children() if id(part) not in inner)

    def token_ids(self, texts: Sequence[str]) -> NDArray[np.int32]:
        """Return one row per text: the tokenizer's ids plus one, and 0 after the last."""
        parts = [text.split(f" {SEPARATOR} ", 1) for text in texts]
        found: dict[int, list[int]] = {}
        for count in (1, 2):  # apart, because a text is not a pair with an empty second half
            where = [place for place, one in enumerate(parts) if len(one) == count]
            given = [[parts[place][half] for place in where] for half in range(count)]
            if where:
                made = self.tokenizer(*given, truncation=True, max_length=self.longest, padding=False)["input_ids"]
                found |= dict(zip(where, made, strict=True))
        rows = np.zeros((len(texts), max(map(len, found.values()), default=1)), dtype=np.int32)
        for place, ids in found.items():
            rows[place, : len(ids)] = np.asarray(ids) + 1
        return rows

    def inputs(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return the named inputs of the network for rows of ids, without columns that are padding for all."""
        used = max(1, int((x > 0).any(0).sum()))
        x = x[:, :used]
        mask = x > 0
        ids = torch.where(mask, x - 1, self.pad)
        mask[:, 0] = True  # attention over nothing is not a number
        found = {"input_ids": ids, "attention_mask": mask.long()}
        if self.two_types:
            ends = (ids == self.tokenizer.sep_token_id).long()
            found["token_type_ids"] = ((ends.cumsum(1) - ends) > 0).long() * mask.long()
        return found

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return one row of outputs per text."""
        outputs: torch.Tensor = self.transformer(**self.inputs(x)).logits
        return outputs

    def pooled(self, x: torch.Tensor) -> torch.Tensor:
        """Return one vector per text; without gradients a few of like length at a time, so that little is padding."""
        if torch.is_grad_enabled() or len(x) <= AT_ONCE:
            return self._pooled(x)
        order = (x > 0).sum(dim=1).argsort(stable=True)
        found = torch.cat([self._pooled(x[part]) for part in torch.split(order, AT_ONCE)])
        return found[order.argsort()]

    def _pooled(self, x: torch.Tensor) -> torch.Tensor:
        """Return the mean of the last hidden state over the tokens of each text."""
        given = self.inputs(x)
        hidden = self.encoder(**given).last_hidden_state
        mask = given["attention_mask"].unsqueeze(2).to(hidden)
        mean: torch.Tensor = (hidden * mask).sum(1) / mask.sum(1)
        return mean


class SentenceEncoder(TextTransformer):
    """A transformer as a map from texts to vectors of length one, as sentence-transformers defines it."""

    num_classes = 0  # there is no head

    def __init__(self, transformer: nn.Module, tokenizer: Any, reads: str, longest: int, first: bool) -> None:
        super().__init__(transformer, tokenizer, reads, longest)
        self.first = first
        self.pooling = "first token" if first else "mean over tokens"
        self.pooling += ", scaled to length one"

    @property
    def encoder(self) -> nn.Module:
        """The network itself."""
        return self.transformer

    def _pooled(self, x: torch.Tensor) -> torch.Tensor:
        """Return one vector of length one per text."""
        if self.first:
            found = self.transformer(**self.inputs(x)).last_hidden_state[:, 0]
        else:
            found = super()._pooled(x)
        return nn.functional.normalize(found, dim=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return one vector per text."""
        return self.pooled(x)


def text_transformer(name: str, classes: int, keep_head: bool = False) -> nn.Module:
    """Return the network that `hf:PATH` or `sentence:NAME` stands for; call it with torch seeded.

    Parameters
    ----------
    name
        The folder, or package.
    classes
        Number of outputs of `hf:PATH`.
    keep_head
        Whether the head is that of the folder; otherwise it is drawn anew.
    """
    place = folder_of(name)
    tokenizer = loaded_tokenizer(name)
    if name.startswith("sentence:"):
        how = settings_file(place, "1_Pooling/config.json")
        longest = settings_file(place, "sentence_bert_config.json").get("max_seq_length") or LONGEST
        return SentenceEncoder(
            loaded_model("AutoModel", name), tokenizer, name, int(longest), bool(how.get("pooling_mode_cls_token"))
        )
    made = TextTransformer(
        loaded_model("AutoModelForSequenceClassification", name, num_labels=classes), tokenizer, name
    )
    if not keep_head:
        _redraw(made)
        return made
    labels = settings_file(place, "config.json")
    known = len(labels.get("id2label") or ()) or 2
    if known != classes or not any("Classification" in one for one in labels.get("architectures") or ()):
        raise InputError(
            f"head of FineTune cannot be kept for network {name!r}: its folder must hold a classifier of {classes} "
            f"classes; got {', '.join(labels.get('architectures') or ['no classifier'])} with {known}."
        )
    return made


def _redraw(network: TextTransformer) -> None:
    """Draw the head from torch's current state; what a folder holds of it does not matter."""
    std = float(getattr(network.transformer.config, "initializer_range", SPREAD))
    names = network.head_names
    if not names:
        raise DataError(f"network {network.reads!r} has no classification head that could be trained.")
    with torch.no_grad():
        for name, value in network.named_parameters():
            if any(name.startswith(f"{head}.") for head in names):
                if value.ndim > 1:
                    value.normal_(0, std)
                else:
                    value.fill_(0.0 if name.endswith("bias") else 1.0)


def reader_of(model: nn.Module) -> TextTransformer | None:
    """Return the part of a network that reads texts by itself; None if it takes winnow's token ids."""
    return next((part for part in model.modules() if isinstance(part, TextTransformer)), None)


def gives_example_gradients(model: nn.Module) -> bool:
    """Whether the gradient of each single example can be computed, which networks of transformers do not give."""
    return reader_of(model) is None


def needs_example_gradients(what: str, model: nn.Module) -> None:
    """Raise if something that needs the gradient of each single example is asked of a network of transformers."""
    if not gives_example_gradients(model):
        raise NotDefinedError(
            f"{what} needs the gradient of each single example, which networks of transformers do not give; use "
            "textbag or textformer."
        )
