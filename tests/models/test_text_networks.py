"""Networks for text: padding says nothing, a seed decides the weights, and other networks and data are refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.corpus import reviews

import winnow as wn
from winnow.core.errors import InputError
from winnow.models import build, features_of
from winnow.models.text_networks import rows_of
from winnow.training import Feed

SMALL = {"textbag": {"rows": 64, "pair_rows": 64}, "textformer": {"rows": 64, "width": 8, "heads": 2, "depth": 1}}
TOKENS = torch.tensor([[5, 9, 2, 0, 0], [7, 0, 0, 0, 0], [0, 0, 0, 0, 0]])


@pytest.mark.parametrize("name", SMALL)
def test_padding_and_length_change_nothing(name: str) -> None:
    model = build(name, classes=3, shape=(5,), kind="text", **SMALL[name]).eval()
    out = model(TOKENS)
    assert out.shape == (3, 3)
    assert torch.isfinite(out).all()
    longer = torch.nn.functional.pad(TOKENS, (0, 4))
    assert torch.allclose(model(longer), out, atol=1e-6)
    assert torch.equal(out, build(name, classes=3, shape=(5,), kind="text", **SMALL[name]).eval()(TOKENS))


@pytest.mark.parametrize("name", SMALL)
def test_word_order_counts(name: str) -> None:
    model = build(name, classes=2, shape=(3,), kind="text", **SMALL[name]).eval()
    out = model(torch.tensor([[5, 9, 2], [2, 9, 5]]))
    assert not torch.allclose(out[0], out[1], atol=1e-7)


def test_a_word_that_was_never_seen_says_nothing() -> None:
    source = wn.open(reviews(60))
    found = wn.train(source, recipe=wn.Recipe(epochs=3, batch=16, lr=0.02), test=source).network.module
    known, odd = (token for token in wn.open(["lovely zzqx"]).read(np.arange(1))[0].tolist())
    rows = torch.tensor([[known, 0], [known, odd]])
    with torch.no_grad():
        plain, with_odd = features_of(found, rows) * torch.tensor([[1.0], [2.0**0.5]])
    assert torch.allclose(plain[:32], with_odd[:32], atol=0.1 * float(plain[:32].abs().max()))


def test_hashes_leave_padding_alone_and_use_all_rows() -> None:
    rows = rows_of(torch.arange(5000), 32)
    assert rows[0] == 0
    assert set(rows[1:].tolist()) == set(range(1, 32))


def test_token_ids_reach_the_network_as_they_are() -> None:
    source = wn.open(reviews(10))
    feed = Feed(source)
    given = feed.inputs(np.arange(10))
    assert given.dtype == torch.int64
    assert np.array_equal(given.numpy(), source.read(source.order))
    assert (feed.scaling.mean == 0).all()
    assert (feed.scaling.std == 1).all()


def test_own_modules_get_token_ids() -> None:
    source = wn.open(reviews(20))
    module = torch.nn.Sequential(torch.nn.EmbeddingBag(1 << 18, 2, padding_idx=0), torch.nn.Linear(2, 2))
    found = wn.observe(source, module, wn.Recipe(epochs=1), seeds=1)
    assert found.array("losses").shape == (1, 1, 20)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match="network 'mlp' does not take text; use textbag, textformer"):
        build("mlp", classes=2, shape=(5,), kind="text")
    with pytest.raises(InputError, match="network 'textbag' takes text; got examples of kind table"):
        build("textbag", classes=2, shape=(5,), kind="table")
    with pytest.raises(InputError, match=r"must be \(length,\), a row of token ids; got \(1, 8, 8\)"):
        build("textbag", classes=2, shape=(1, 8, 8))
    with pytest.raises(InputError, match="must be a multiple of its heads, 4; got 6"):
        build("textformer", classes=2, width=6)
    from sklearn.linear_model import LogisticRegression

    source = wn.open(reviews(20))
    with pytest.raises(InputError, match="must be a network for text; LogisticRegression takes numbers"):
        wn.evaluate(source, {}, test=source, model=LogisticRegression(), seeds=2)
