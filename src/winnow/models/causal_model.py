"""The loss of a causal language model per token of a response, with its prompt and without it.

A text of two parts, prompt and response, is read as start, prompt, response; only the tokens of the response count. A
text of one part is all response. With p(t | before) the model's probability of token t,

    loss = - mean over tokens t of the response of log p(t | start, prompt, tokens before t),

and alone is the same without the prompt. Responses that do not fit the model are cut at their end, prompts at their
beginning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ..core.errors import DataError, InputError
from ..core.progress import track
from ..sources.tokens import SEPARATOR
from .transformer_folder import loaded_model, loaded_tokenizer

__all__ = ["CausalModel"]

LONGEST = 1024  # tokens
TOKENS = 4096  # tokens per forward pass


class CausalModel:
    """A causal language model of transformers and its tokenizer.

    Parameters
    ----------
    name
        `hf:PATH`, a folder as `save_pretrained` writes it.
    device
        Where to compute.
    """

    def __init__(self, name: str, device: torch.device) -> None:
        self.name, self.device = name, device
        self.network: nn.Module = loaded_model("AutoModelForCausalLM", name).to(device).eval()
        self.tokenizer = loaded_tokenizer(name)
        config: Any = self.network.config
        limits = (self.tokenizer.model_max_length, getattr(config, "max_position_embeddings", None), LONGEST)
        self.longest = int(min(limit for limit in limits if limit))
        marks = ("bos_token_id", "cls_token_id", "eos_token_id")
        start = next((one for mark in marks if (one := getattr(self.tokenizer, mark, None)) is not None), None)
        if start is None:
            raise DataError(f"the tokenizer of network {name!r} has no token that a text could start with.")
        self.start = int(start)
        self._check()

    def _check(self) -> None:
        """Raise if a token changes the prediction of those before it: then the network is not a causal model."""
        rows = torch.tensor([[self.start, 0, 0], [self.start, 0, 1]], device=self.device)
        with torch.no_grad():
            first = self.network(input_ids=rows).logits[:, :2]
        if not torch.allclose(first[0], first[1], atol=1e-4):
            raise InputError(
                f"network {self.name!r} must be a causal language model, which predicts each token from those before "
                "it; this one looks ahead."
            )

    def losses(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the mean loss per token of each response, after its prompt and alone; 0 for an empty response."""
        given: list[tuple[list[int], list[int]]] = []
        for text in texts:
            prompt, _, response = text.rpartition(f" {SEPARATOR} ")
            answer = self._ids(response)[: self.longest - 1]
            before = self._ids(prompt)
            room = self.longest - 1 - len(answer)
            given.append((before[max(0, len(before) - room) :] if room else [], answer))
        alone = [(list[int](), answer) for _, answer in given]
        return self._mean(given, "losses of responses"), self._mean(alone, "losses without prompts")

    def _ids(self, text: str) -> list[int]:
        if not text:
            return []
        found: list[int] = self.tokenizer(text, add_special_tokens=False, truncation=False, verbose=False)["input_ids"]
        return found

    def _mean(self, rows: Sequence[tuple[list[int], list[int]]], label: str) -> NDArray[np.float32]:
        out = np.zeros(len(rows), dtype=np.float32)
        size = np.array([1 + len(before) + len(answer) for before, answer in rows])
        order = [int(place) for place in np.argsort(size, kind="stable") if rows[place][1]]
        batches, start = [], 0
        while start < len(order):  # of about the same length, so that little is padding
            count = max(1, TOKENS // int(size[order[min(start + 15, len(order) - 1)]]))
            batches.append(order[start : start + count])
            start += count
        for batch in track(batches, label):
            out[batch] = self._batch([rows[place] for place in batch])
        return out

    def _batch(self, rows: Sequence[tuple[list[int], list[int]]]) -> NDArray[np.float32]:
        longest = max(1 + len(before) + len(answer) for before, answer in rows)
        ids = torch.full((len(rows), longest), self.start)
        mask, counted = torch.zeros(len(rows), longest, dtype=torch.long), torch.zeros(len(rows), longest)
        for row, (before, answer) in enumerate(rows):
            all_of_it = [self.start, *before, *answer]
            ids[row, : len(all_of_it)] = torch.tensor(all_of_it)
            mask[row, : len(all_of_it)] = 1
            counted[row, 1 + len(before) : len(all_of_it)] = 1
        ids, mask, counted = ids.to(self.device), mask.to(self.device), counted.to(self.device)
        with torch.no_grad():
            logits = self.network(input_ids=ids, attention_mask=mask).logits[:, :-1].float()
        losses = nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
        means: NDArray[np.float32] = ((losses * counted[:, 1:]).sum(1) / counted[:, 1:].sum(1)).cpu().numpy()
        return means
