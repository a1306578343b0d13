"""Networks for text: `textbag`, the default, and `textformer`. Both take rows of token ids, with 0 for padding.

Token ids are hashes of words (`sources/tokens.py`), so neither needs a vocabulary: an id is hashed again into the rows
of a table of embeddings. Tables are moderate, because the optimisers update all of their rows in every step. Rows of
any length can be read, so a test set may have longer texts than the training data.
"""

from __future__ import annotations

import math

import torch
from torch import nn

from ..core import checks, registry
from ..core.errors import InputError

__all__ = ["textbag", "textformer"]

PRIME = (1 << 31) - 1
USUAL = (64,)
LEFT_OUT = 0.5  # share of pairs of words that a training step does not see


def rows_of(tokens: torch.Tensor, rows: int) -> torch.Tensor:
    """Hash token ids into the rows 1 to `rows` - 1 of a table; padding stays row 0."""
    mixed = tokens * 1_000_003 % PRIME * 48_271 % PRIME
    return torch.where(tokens > 0, 1 + mixed % (rows - 1), 0)


class TextBag(nn.Module):
    """Embeddings of a text's words and of its pairs of neighbours, each summed, and a head."""

    def __init__(
        self, classes: int, words: tuple[int, int], pairs: tuple[int, int], hidden: int, dropout: float
    ) -> None:
        super().__init__()
        self.words = nn.Embedding(*words, padding_idx=0)
        self.pairs = nn.Embedding(*pairs, padding_idx=0)
        self.dropout = nn.Dropout(dropout)
        width = words[1] + pairs[1]
        self.hidden = nn.Sequential(nn.Linear(width, hidden), nn.ReLU()) if hidden else nn.Identity()
        self.head = nn.Linear(hidden or width, classes)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start close to zero, so that words and pairs that were never seen in training say nothing."""
        for table in (self.words, self.pairs):
            nn.init.normal_(table.weight, std=0.001)
            with torch.no_grad():
                table.weight[0].zero_()

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return one row of outputs per text."""
        tokens = tokens.long()
        both = torch.where(tokens[:, 1:] > 0, (tokens[:, :-1] * 8_191 + tokens[:, 1:]) % PRIME + 1, 0)
        pairs = rows_of(both, self.pairs.num_embeddings)
        if self.training:  # pairs are rare, and would be learned by heart
            pairs = torch.where(torch.rand(pairs.shape, device=pairs.device) < LEFT_OUT, 0, pairs)
        scale = (tokens > 0).sum(1, keepdim=True).clamp(min=1).sqrt()
        sums = [self.words(rows_of(tokens, self.words.num_embeddings)).sum(1), self.pairs(pairs).sum(1)]
        outputs: torch.Tensor = self.head(self.hidden(self.dropout(torch.cat(sums, 1) / scale)))
        return outputs


@registry.network(shape=USUAL, text=True)
def textbag(
    classes: int,
    shape: tuple[int, ...],
    *,
    rows: int = 1 << 15,
    width: int = 32,
    pair_rows: int = 1 << 17,
    pair_width: int = 8,
    hidden: int = 0,
    dropout: float = 0.3,
) -> nn.Module:
    """Hashed words and pairs of neighbours, embedded and summed, then a linear head or one hidden layer."""
    owner = "network 'textbag'"
    _tokens("textbag", shape)
    for name, value, low in (
        ("rows", rows, 2),
        ("width", width, 1),
        ("pair_rows", pair_rows, 2),
        ("pair_width", pair_width, 1),
        ("hidden", hidden, 0),
    ):
        checks.integer(name, owner, value, low=low)
    checks.number("dropout", owner, dropout, low=0, high=1, open_high=True)
    return TextBag(classes, (rows, width), (pair_rows, pair_width), hidden, float(dropout))


class Textformer(nn.Module):
    """Embeddings with sines for positions, transformer layers, the mean over tokens, and a linear head."""

    def __init__(self, classes: int, rows: int, width: int, depth: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.rows = rows
        self.table = nn.Embedding(rows, width, padding_idx=0)
        layer = nn.TransformerEncoderLayer(
            width, heads, 2 * width, dropout, batch_first=True, norm_first=True, activation="gelu"
        )
        self.layers = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start embeddings at the size of the sines."""
        nn.init.normal_(self.table.weight, std=0.1)
        with torch.no_grad():
            self.table.weight[0].zero_()

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return one row of outputs per text."""
        rows = rows_of(tokens.long(), self.rows)
        real = rows > 0
        x = self.table(rows) + 0.1 * _sines(rows.shape[1], self.table.embedding_dim).to(self.table.weight)
        # A text without a single token attends to its first place: attention over nothing is not a number.
        hidden = ~real & (torch.arange(rows.shape[1], device=rows.device) > 0)
        x = self.norm(self.layers(x, src_key_padding_mask=hidden))
        mean = (x * real.unsqueeze(2)).sum(1) / real.sum(1, keepdim=True).clamp(min=1)
        outputs: torch.Tensor = self.head(mean)
        return outputs


def _sines(length: int, width: int) -> torch.Tensor:
    """Sines and cosines of positions, as in the first transformers: no longest text, nothing to learn."""
    place = torch.arange(length, dtype=torch.float32).unsqueeze(1)
    pace = torch.exp(torch.arange(0, width, 2, dtype=torch.float32) * (-math.log(10_000.0) / width))
    return torch.stack([torch.sin(place * pace), torch.cos(place * pace)], 2).flatten(1)[:, :width]


@registry.network(shape=USUAL, paper="Vaswani et al. 2017", text=True)
def textformer(
    classes: int,
    shape: tuple[int, ...],
    *,
    rows: int = 1 << 15,
    width: int = 64,
    depth: int = 2,
    heads: int = 4,
    dropout: float = 0.1,
) -> nn.Module:
    """A small transformer encoder over hashed words, averaged over the text."""
    owner = "network 'textformer'"
    _tokens("textformer", shape)
    for name, value in (("width", width), ("depth", depth), ("heads", heads)):
        checks.integer(name, owner, value, low=1)
    checks.integer("rows", owner, rows, low=2)
    checks.number("dropout", owner, dropout, low=0, high=1, open_high=True)
    if width % heads:
        raise InputError(f"width of {owner} must be a multiple of its heads, {heads}; got {width}.")
    return Textformer(classes, rows, width, depth, heads, float(dropout))


def _tokens(name: str, shape: tuple[int, ...]) -> None:
    if len(shape) != 1:
        raise InputError(f"shape of network {name!r} must be (length,), a row of token ids; got {shape}.")
