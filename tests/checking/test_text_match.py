"""Near-duplicates of text: changed copies are found, phrases cut from a sentence are not."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import winnow as wn
from tests.oracles.text import changes
from winnow.checking.duplicates import duplicates
from winnow.checking.leaks import leaks
from winnow.checking.outliers import outliers
from winnow.checking.text_match import edits
from winnow.checking.values import values
from winnow.signals.text_rows import text_rows

DRAW = np.random.default_rng(0)
VOCABULARY = np.array([f"{a}{b}{c}" for a in "bdfgklmnprst" for b in ("a", "e", "i", "o", "u") for c in "lnrst"])
SENTENCES = [" ".join(DRAW.choice(VOCABULARY, 12)) for _ in range(200)]


def swapped(text: str, place: int = 5) -> str:
    words = text.split()
    return " ".join([*words[:place], "another", *words[place + 1 :]])


def groups(texts: list[str]) -> set[frozenset[int]]:
    return {frozenset(members.tolist()) for members in duplicates(wn.open(texts)).groups()}


def test_changed_copies_are_found_and_parts_of_a_text_are_not() -> None:
    words = [text.split() for text in SENTENCES]
    turned = [*words[21][:4], words[21][5], words[21][4], *words[21][6:]]
    copies = [
        *(swapped(SENTENCES[place], place % 12) for place in range(20)),  # a word replaced
        SENTENCES[20].upper(),  # other letters
        " ".join(turned),  # two words swapped
        " ".join([*words[22][:6], "another", *words[22][6:]]),  # a word added inside
        SENTENCES[23],  # the same
    ]
    parts = [SENTENCES[24] + " .", "and " + SENTENCES[25], " ".join(words[26][:10]), " ".join(words[27][1:])]
    found = groups([*SENTENCES, *copies, *parts])
    assert found == {frozenset((place, 200 + place)) for place in range(24)}


def test_short_common_phrases_are_no_copies() -> None:
    assert groups([*SENTENCES, "a good film", "a bad film", "a good cast", "a long film"]) == set()


def test_findings_say_how_many_words_differ() -> None:
    source = wn.open([*SENTENCES, swapped(SENTENCES[3])])
    told = [one.evidence for one in duplicates(source).findings(source) if one.flagged]
    assert len(told) == 1
    assert "8% of them differ" in told[0]


def test_leaks_are_found_whatever_the_length_of_the_rows() -> None:
    test = wn.open([SENTENCES[0], swapped(SENTENCES[1]), "short"])
    source = wn.open(SENTENCES)
    assert source.shape != test.with_length(3).shape
    found = leaks(source, test.with_length(15))
    assert {one.id for one in found} == set(source.ids[:2].tolist())


def test_texts_without_words_and_strange_texts_are_found() -> None:
    rare = "".join(map(chr, range(0x410, 0x42F)))
    source = wn.open([*SENTENCES, "", rare])
    assert [one.id for one in values(source)] == [source.ids[200].item()]
    assert {one.id for one in outliers(source)} <= {source.ids[200].item(), source.ids[201].item()}


def test_rows_do_not_depend_on_the_order() -> None:
    source = wn.open(SENTENCES[:20])
    rows, back = text_rows(source), text_rows(source.at(np.arange(20)[::-1]))
    assert np.allclose(rows, back[::-1], atol=1e-6)
    near = np.linalg.norm(rows[0] - text_rows(wn.open([swapped(SENTENCES[0]), *SENTENCES[1:20]]))[0])
    assert near < 0.7 * np.linalg.norm(rows[0] - rows[1])
    assert np.array_equal(wn.embed(source).embeddings, rows)


TEXT = st.lists(st.integers(1, 4), max_size=7).map(tuple)


@settings(max_examples=60)
@given(TEXT, TEXT)
def test_edits_are_those_of_the_definition(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    short, long = sorted((a, b), key=len)
    words = np.zeros((2, 7), dtype=np.int32)
    for row, text in enumerate((a, b)):
        words[row, : len(text)] = text
    found = edits(words, (words > 0).astype(np.float64), np.array([[0, 1]]))
    whole = changes(short, long)
    assert found[0][0] == whole
    assert found[1][0] == whole - changes(short, long, free=True)
    assert found[2][0] == sum(min(a.count(word), b.count(word)) for word in set(a))
