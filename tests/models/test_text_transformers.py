from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from tests.tiny_transformers import bert_folder, gpt_folder, tokenizer

import winnow as wn
from winnow.models import FineTune, build
from winnow.models.identity import describe
from winnow.models.text_transformers import TextTransformer, text_transformer
from winnow.sources.tokens import SEPARATOR
from winnow.training import Feed, Recipe

SUBJECTS, GOOD, BAD = ("film", "plot", "cast", "story"), ("good", "fine", "great", "lovely"), ("bad", "dull", "poor")
ONE = wn.Local(workers=1)


def reviews(n: int = 96, seed: int = 0) -> tuple[list[str], list[str]]:
    """Sentences whose one telling word decides the label."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for place in range(n):
        good = place % 2 == 0
        filler = " ".join(rng.choice(["a", "very", "the", "one", "two", "three"], rng.integers(1, 6)))
        texts.append(f"{filler} {rng.choice(SUBJECTS)} is {rng.choice(GOOD if good else BAD)} {rng.integers(0, 10**6)}")
        labels.append("good" if good else "bad")
    return texts, labels


def test_a_text_becomes_the_tokenizers_own_ids(tmp_path: Path) -> None:
    name = f"hf:{bert_folder(tmp_path / 'bert')}"
    network = build(name, classes=2, shape=(5,), kind="text")
    assert isinstance(network, TextTransformer)
    source = wn.open((["a good film", "the plot is dull and long"], [0, 1]))
    feed = Feed(source).read_by(network)
    rows = {text: feed.inputs(np.array([place]))[0] for place, text in enumerate(source.texts(feed.ids))}
    own = tokenizer()("a good film")["input_ids"]
    assert (rows["a good film"][: len(own)] - 1).tolist() == own
    assert not rows["a good film"][len(own) :].any()
    assert Feed(source).read_by(torch.nn.Linear(2, 2)).inputs(np.array([0])).shape == (1, source.shape[0])


def test_outputs_are_those_of_transformers_whatever_the_padding(tmp_path: Path) -> None:
    folder = bert_folder(tmp_path / "bert", classes=3)
    network = build(FineTune(f"hf:{folder}", head="keep"), classes=3, shape=(5,), kind="text").eval()
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    texts = ["a good film", f"what is one plus two {SEPARATOR} three . not four", "dull"]
    with torch.no_grad():
        together = network(torch.from_numpy(network.token_ids(texts)))
        for place, text in enumerate(texts):
            given = tokenizer()(*text.split(f" {SEPARATOR} "), return_tensors="pt", return_token_type_ids=True)
            torch.testing.assert_close(together[place], theirs(**given).logits[0], rtol=1e-4, atol=1e-6)


def test_the_head_is_drawn_from_the_seed_and_the_rest_is_the_folder(tmp_path: Path) -> None:
    name = f"hf:{bert_folder(tmp_path / 'bert', classes=2)}"
    first, again, other = (build(name, classes=2, kind="text", seed=seed).state_dict() for seed in (1, 1, 2))
    theirs = transformers.BertForSequenceClassification.from_pretrained(tmp_path / "bert").state_dict()
    for key, value in first.items():
        assert torch.equal(value, again[key])
        inner = key.removeprefix("transformer.")
        if inner.startswith("bert."):
            assert torch.equal(value, theirs[inner])
        elif inner.endswith("weight"):
            assert not torch.equal(value, other[key])
            assert not torch.equal(value, theirs[inner])


def test_a_tiny_transformer_is_fine_tuned_from_its_folder(tmp_path: Path) -> None:
    name = f"hf:{bert_folder(tmp_path / 'bert')}"
    source, test = wn.open(reviews()), wn.open(reviews(60, seed=1))
    recipe = Recipe(epochs=12, batch=16, lr=3e-3, weight_decay=0.0)
    seen = wn.observe(source, name, recipe, engine=ONE)
    assert seen.array("correct")[0, -1].mean() > 0.9
    subset = wn.prune(source, 0.5, model=name, recipe=recipe, veto=1, engine=ONE)
    how = {"recipe": recipe, "seeds": 1, "same_steps": False, "random": False, "match_iterations": 1, "engine": ONE}
    study = wn.evaluate(source, {"half": subset}, test=test, model=name, **how)
    found = {row["arm"]: row["accuracy"] for row in study.table()}
    assert found["full"] > 0.9
    assert found["half"] > 0.7
    frozen = FineTune(name, freeze="backbone")
    network = build(frozen, classes=2, kind="text")
    trained = [key for key, value in network.named_parameters() if value.requires_grad]
    assert trained == ["transformer.classifier.weight", "transformer.classifier.bias"]


def test_embeddings_are_the_mean_of_the_last_layer_over_the_tokens(tmp_path: Path) -> None:
    folder = bert_folder(tmp_path / "bert")
    source = wn.open(["a good film", "the plot is dull", "what ?"])
    found = wn.embed(source, f"hf:{folder}")
    encoder = transformers.AutoModel.from_pretrained(folder).eval()
    for text, row in zip(source.texts(), found.embeddings, strict=True):
        with torch.no_grad():
            hidden = encoder(**tokenizer()(text, return_tensors="pt")).last_hidden_state
        np.testing.assert_allclose(row, hidden[0].mean(0), rtol=1e-4, atol=1e-5)
    assert found.provenance["parameters"]["taken"] == {
        "layer": "",
        "side": "output",
        "width": 24,
        "pooling": "mean over tokens",
    }
    sentences = wn.embed(source, f"sentence:{folder}")
    plain = found.embeddings / np.linalg.norm(found.embeddings, axis=1, keepdims=True)
    np.testing.assert_allclose(sentences.embeddings, plain, rtol=1e-4, atol=1e-5)
    encoder = text_transformer(f"sentence:{folder}", 0).eval()
    with torch.no_grad():
        own = encoder(torch.from_numpy(encoder.token_ids(source.texts())))
    np.testing.assert_allclose(sentences.embeddings, own, rtol=1e-6, atol=1e-6)


def test_a_sentence_encoder_comes_from_an_installed_package_and_can_be_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "tiny_sentences"
    bert_folder(package / "model")
    (package / "__init__.py").write_text("raise RuntimeError('the package must not be imported')")
    (package / "model" / "1_Pooling").mkdir()
    (package / "model" / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    monkeypatch.syspath_prepend(tmp_path)
    source = wn.open(reviews(32))
    found = wn.embed(source, "sentence:tiny-sentences")
    assert found.provenance["parameters"]["taken"]["pooling"] == "first token, scaled to length one"
    np.testing.assert_allclose(np.linalg.norm(found.embeddings, axis=1), 1, rtol=1e-5)
    seen = wn.observe(source, "sentence:tiny-sentences", Recipe(epochs=1), engine=ONE)
    assert seen.array("margins").shape == (1, 1, 32)


def test_a_causal_model_classifies_too(tmp_path: Path) -> None:
    name = f"hf:{gpt_folder(tmp_path / 'gpt')}"
    network = build(name, classes=3, shape=(6,), kind="text").eval()
    with torch.no_grad():
        rows = torch.from_numpy(network.token_ids(["a good film", "dull"]))
        together, alone = network(rows), network(rows[1:, :3])
    assert together.shape == (2, 3)
    torch.testing.assert_close(together[1:], alone, rtol=1e-4, atol=1e-5)


def test_the_content_of_the_folder_is_part_of_the_identity(tmp_path: Path) -> None:
    one, same, other = (bert_folder(tmp_path / name / "bert", seed) for name, seed in (("a", 1), ("b", 1), ("c", 2)))
    assert describe(f"hf:{one}") == describe(f"hf:{same}")
    assert describe(f"hf:{one}") != describe(f"hf:{other}")
    assert "bert" in describe(f"hf:{one}")
    assert str(tmp_path) not in describe(f"hf:{one}")
    network = build(f"hf:{one}", classes=2, kind="text")
    again = pickle.loads(pickle.dumps(network))
    assert (again.token_ids(["a film"]) == network.token_ids(["a film"])).all()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda d: build("hf:", classes=2, kind="text"), "must name a folder after the colon"),
        (lambda d: build(f"hf:{d}/none", classes=2, kind="text"), "must name an existing folder; there is no"),
        (lambda d: build(f"hf:{d}", classes=2, kind="text"), "is not a folder of transformers: it has no config.json"),
        (lambda d: build(f"hf:{broken(d)}", classes=2, kind="text"), "cannot be read from"),
        (
            lambda d: build("sentence:no-such-thing", classes=2, kind="text"),
            "or an installed package that holds a model",
        ),
        (lambda d: build(f"hf:{bert_folder(d / 'b')}", classes=2, shape=(3,), kind="table"), "takes text"),
        (lambda d: build(f"hf:{bert_folder(d / 'b')}", classes=2, width=3), "has no options; got width"),
        (
            lambda d: wn.embed(np.zeros((4, 3)), f"sentence:{bert_folder(d / 'b')}"),
            "takes text; got examples of kind table",
        ),
        (
            lambda d: build(FineTune(f"hf:{bert_folder(d / 'b', classes=3)}", head="keep"), classes=2, kind="text"),
            "head of FineTune cannot be kept",
        ),
        (lambda d: FineTune(f"hf:{d}", "weights.pt"), "must not be given for network"),
        (
            lambda d: wn.observe(reviews(16), f"hf:{bert_folder(d / 'b')}", Recipe(epochs=1), want=("gradients",)),
            "needs the gradient of each single example",
        ),
    ],
)
def test_bad_requests_are_refused(make: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(wn.errors.WinnowError, match=words) as caught:
        make(tmp_path)
    assert "\n" not in str(caught.value)


def broken(path: Path) -> Path:
    (path / "broken").mkdir()
    (path / "broken" / "config.json").write_text("{")
    return path / "broken"
