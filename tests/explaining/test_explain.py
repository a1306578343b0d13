"""explain: right by the kernel's own functions, the same for any order, honest about a flipped label."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

import winnow as wn
from winnow.artefacts.explanation import Explanation
from winnow.core.errors import InputError, NotDefinedError
from winnow.core.seeds import number
from winnow.engines import Local
from winnow.explaining import trained_once
from winnow.explaining.explain import explain
from winnow.training import Feed, predict, train

RECIPE = wn.Recipe(epochs=4, batch=32)
HOW = {"model": "mlp", "recipe": RECIPE}


@pytest.fixture(scope="module")
def digits() -> wn.Source:
    return wn.open("digits", limit=300)


@pytest.fixture(scope="module")
def first(digits: wn.Source) -> Explanation:
    return explain(digits, digits.ids[0], **HOW)


def test_it_says_what_the_kernel_says(digits: wn.Source, first: Explanation) -> None:
    net = wn.models.build("mlp", classes=10, shape=digits.shape, seed=number(0, "init", 0))
    feed = Feed(digits)
    train(net, feed, RECIPE, number(0, "training", 0))
    labels = digits.labels[feed.order]
    kernel = wn.lpntk.gram(net, feed.inputs(np.arange(300)), labels)
    i = feed.ids.tolist().index(digits.ids[0])
    near = wn.lpntk.neighbours(kernel, i, 5)
    assert [one.id for one in first.same_way] == feed.ids[near.interchangeable.positions].tolist()
    assert [one.cosine for one in first.same_way] == pytest.approx(near.interchangeable.cosine.tolist(), rel=1e-4)
    weaker = np.maximum(near.contradictory.own, near.contradictory.other)  # both negative
    assert [one.id for one in first.against] == feed.ids[near.contradictory.positions[weaker < -0.05]].tolist()
    counts = wn.lpntk.relations(kernel, threshold=first.threshold).examples[i]
    assert (first.interchangeable, first.contradictory) == (counts[0], counts[2])
    assert first.self_kernel == pytest.approx(kernel[i, i], rel=1e-4)
    assert first.self_rank == 1 + int((kernel.diagonal() > kernel[i, i]).sum())
    signals = wn.observe(digits, "mlp", RECIPE, 1, ("dynamics", "predictions"), engine=Local(workers=1))
    doubted = wn.score("mislabelled", signals).values
    place = signals.ids.tolist().index(digits.ids[0])
    assert first.label_score == pytest.approx(doubted[place], rel=1e-4)
    assert first.label_rank == 1 + int((doubted > doubted[place]).sum())
    assert first.label_bound == 0.5
    said = digits.classes[int(predict(net, feed, RECIPE)[i].argmax())]
    assert (first.label, first.predicted, first.examples, first.exact) == (digits.classes[labels[i]], said, 300, True)


def test_order_does_not_matter_and_the_seed_does(digits: wn.Source, first: Explanation) -> None:
    turned = explain(digits.at(np.arange(300)[::-1]), digits.ids[0], **HOW)
    assert dataclasses.replace(turned, provenance=first.provenance) == first
    other = explain(digits, digits.ids[0], **HOW, seed=1)
    assert other.self_kernel != first.self_kernel


def test_a_flipped_label_looks_wrong_and_few_others_do() -> None:
    source = wn.open("digits", limit=600)
    labels = source.labels.copy()
    flipped = np.flatnonzero(labels == 0)[:3]
    labels[flipped] = 6
    wrong = source.with_labels(labels, "classification", source.classes)
    how = {"model": "mlp", "recipe": wn.Recipe(epochs=10, batch=32)}
    found = [explain(wrong, source.ids[i], **how) for i in flipped]
    assert sum(bool(one.looks_wrong) for one in found) >= 2
    assert all(one.label == "6" for one in found)
    loudest = min(found, key=lambda one: one.label_rank or 600)
    assert "Its label looks wrong (probability " in str(loudest)
    assert loudest.suggested == "0"
    assert wrong.labels[wrong.positions([loudest.witness])[0]] == 0
    assert loudest.peers == int((labels == 6).sum()) - 1
    clean = [explain(wrong, source.ids[i], **how) for i in np.flatnonzero(labels == 3)[:3]]
    assert not any(one.looks_wrong for one in clean)


def test_where_no_example_of_another_class_is_related_there_is_no_witness() -> None:
    source = wn.open("digits", limit=600)
    labels = np.asarray(source.labels) % 4  # one input under two of four labels has a cosine of 0 in a linear model
    moved = np.flatnonzero(np.asarray(source.labels) == 0)[:3]
    labels[moved] = 2
    wrong = source.with_labels(labels, "classification", tuple("abcd"))
    how = {"model": "linear", "recipe": wn.Recipe(epochs=10)}
    found = [explain(wrong, source.ids[i], **how) for i in moved]
    doubted = [one for one in found if one.looks_wrong]
    assert doubted
    assert {one.witness for one in found} == {None}
    assert str(doubted[0]).splitlines()[-1].endswith(f"Suggested class, as a hint: {doubted[0].suggested}.")
    whole = explain(wrong, **how)
    assert {one.witness for one in whole.errors} == {None}
    assert "  none  " in str(whole)


def test_projected_features_say_nearly_the_same(
    digits: wn.Source, first: Explanation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trained_once, "EXACT", 100)
    found = explain(digits, digits.ids[0], **HOW, k=20)
    assert not found.exact
    assert {one.id for one in first.same_way} <= {one.id for one in found.same_way}
    assert found.self_kernel == pytest.approx(first.self_kernel, rel=0.15)
    assert found.label_score == first.label_score  # labels are judged by the training, not by the kernel
    assert "projected features" in str(found)


def test_a_limit_keeps_the_example(digits: wn.Source) -> None:
    for id in digits.ids[:4]:
        found = explain(digits, id, **HOW, limit=40)
        assert found.id == id
        assert found.examples in (40, 41)
        assert found.examples > len(found.same_way)


def test_words_and_values(first: Explanation) -> None:
    text = str(first)
    assert text.startswith(f"Example {first.id} of digits:300, label {first.label}. mlp, trained on 300 examples")
    assert all(one.id in text for one in (*first.same_way, *first.against))
    assert f"rank {first.self_rank} of 300, largest first" in text
    values = first.values()
    assert values["winnow"] == "explanation"
    assert values["same_way"][0] == dataclasses.asdict(first.same_way[0])
    ranked = [one.projection for one in first.same_way]
    assert ranked == sorted(ranked, reverse=True)
    assert all(f"{one.projection:>10.3f}  {one.cosine:>6.3f}" in text for one in first.same_way)
    nothing = dataclasses.replace(first, against=())
    assert "\n  none\n" in str(nothing)


def test_numbers_as_ids_and_own_networks() -> None:
    rng = np.random.default_rng(0)
    source = wn.open((rng.normal(size=(30, 3)).astype(np.float32), np.arange(30) % 2), ids=np.arange(100, 130))
    own = torch.nn.Linear(3, 2)
    by_text, by_number = (explain(source, id, model=own, recipe=RECIPE) for id in ("107", 107))
    assert by_text == by_number
    assert by_text.id == 107
    assert "Linear, trained on 30" in str(by_text)
    with pytest.raises(InputError, match="has no example with id seven; its ids look like 100"):
        explain(source, "seven", model=own)


@pytest.mark.parametrize("id", ["--5", "²", "-", "", "9" * 5000, 10**30, "1.0", "1e2"])
def test_what_is_no_id_of_these_numbers_is_one_sentence(id: object) -> None:
    with pytest.raises(InputError) as caught:
        explain(numbered(), id, model="mlp")  # type: ignore[call-overload]
    assert str(caught.value) == f"source 'arrays' has no example with id {id}; its ids look like -2."


@pytest.mark.parametrize("id", [True, np.True_, 1.0, [1], b"1"])
def test_what_is_neither_number_nor_text_is_no_id(id: object) -> None:
    with pytest.raises(InputError) as caught:
        explain(numbered(), id, model="mlp")  # type: ignore[call-overload]
    assert str(caught.value) == f"id of explain must be a whole number or text; got {type(id).__name__}."


def numbered() -> wn.Source:
    """Twelve rows of two classes, with the ids -2 to 9."""
    rng = np.random.default_rng(0)
    return wn.open((rng.normal(size=(12, 3)).astype(np.float32), np.arange(12) % 2), ids=np.arange(-2, 10))


def test_negative_numbers_are_ids_too() -> None:
    assert explain(numbered(), "-2", **HOW).id == explain(numbered(), np.int64(-2), **HOW).id == -2


@pytest.mark.parametrize(
    ("members", "words"),
    [
        (1, "Its label cannot be judged: no other example has label rare."),
        (2, "Its label cannot be judged: only 1 other has label rare."),
        (4, "Its label cannot be judged: only 3 others have label rare."),
    ],
)
def test_a_class_of_hardly_anyone_is_not_judged(members: int, words: str) -> None:
    rng = np.random.default_rng(1)
    labels = np.r_[np.zeros(members, dtype=np.int64), 1 + np.arange(30) % 2]
    source = wn.open((rng.normal(size=(labels.size, 3)).astype(np.float32), labels), ids=np.arange(labels.size))
    source = source.with_labels(labels, "classification", ("rare", "one", "two"))
    found = explain(source, 0, **HOW)
    assert (found.looks_wrong, found.label_score, found.label_rank) == (None, None, None)
    assert (found.suggested, found.witness, found.peers) == (None, None, members - 1)
    assert str(found).splitlines()[-1] == words
    judged = explain(source, members, **HOW)
    assert judged.looks_wrong is not None
    assert judged.peers == 14


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"id": "no-such"}, "source 'digits:300' has no example with id no-such; its ids look like"),
        ({"id": 3}, "has no example with id 3"),
        ({"k": 0}, "k of explain"),
        ({"limit": 1}, "limit of explain"),
        ({"source": 3}, "source of explain must be"),
        ({"recipe": 3}, "recipe of explain"),
    ],
)
def test_bad_input_is_refused(digits: wn.Source, change: dict[str, object], words: str) -> None:
    given = {"source": digits, "id": digits.ids[0], **HOW, **change}
    with pytest.raises(InputError) as caught:
        explain(**given)  # type: ignore[arg-type]
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_targets_and_single_classes_are_refused(digits: wn.Source) -> None:
    numbers = digits.with_labels(np.arange(300.0), "regression")
    with pytest.raises(NotDefinedError, match="explain needs class labels"):
        explain(numbers, digits.ids[0])
    alike = digits.with_labels(np.zeros(300, dtype=np.int64), "classification", digits.classes)
    with pytest.raises(InputError, match="at least two classes"):
        explain(alike, digits.ids[0])
