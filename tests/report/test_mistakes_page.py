"""The page of mistakes: what it shows, and that nothing of the data is markup."""

from __future__ import annotations

import dataclasses

import pytest

from tests.report.test_page import Page
from winnow.artefacts.mistakes import Mistake, Mistakes, Teacher
from winnow.report.mistakes_page import render_mistakes, write_mistakes
from winnow.report.pictures import make_pictures

BAD = "<script>alert(1)</script>"


def spoken(page):
    """The text of a page, with a gap between any two tags."""
    return " ".join(" ".join(page.said).replace("\xa0", " ").split()).replace(" , ", ", ")


@pytest.fixture
def about(make_source):
    source, test = make_source(), make_source(prefix="test")
    teachers = tuple(
        Teacher(str(source.ids[i]), source.classes[source.labels[i]], -0.1 * (3 - i), 0.5 - i) for i in range(3)
    )
    one = Mistake(
        id=str(test.ids[0]),
        label="zero",
        predicted="three",
        loss=2.345,
        teachers=teachers,
        alike=teachers[:1],
        foretold=-0.5,
        found=-0.625,
        found_alike=0.25,
        random=(-0.01, 0.02),
        matched=(-0.03, 0.04),
    )
    other = dataclasses.replace(
        one, id=str(test.ids[1]), found=0.1, found_alike=None, alike=(), random=(0.3,), matched=()
    )
    found = Mistakes("digits", "digits:test", "mlp", 1000, 400, 20, 3, 0.01, (one, other))
    return found, source, test


def galleries(found, source, test):
    return make_pictures(source, [one.id for one in found.mistakes[0].teachers]), make_pictures(
        test, [one.id for one in found.mistakes]
    )


def test_everything_is_on_the_page(about, tmp_path):
    text = write_mistakes(about[0], *galleries(*about), tmp_path / "why.html").read_text()
    page = Page(text)
    said = spoken(page).replace("\N{MINUS SIGN}", "-")
    for words in (
        "20 5 % of 400 test examples",
        "confirmed by training again 1 of 2",
        "predicted three loss 2.35 confirmed",
        "not confirmed",
        "Without the 3 teachers the loss changes by -0.625 (predicted -0.500)",
        "random examples of its class: -0.010 to +0.020",
        "random examples with the teachers' labels: -0.030 to +0.040",
        "the nearest by lpNTK: +0.250.",
        "-0.300, cosine 0.50",
        "cosine -1.50",
    ):
        assert words in said, words
    assert said.count("Nearest by lpNTK") == 1
    assert page.tags.count("img") == 2 + 3 + 3 + 1
    assert "http" not in text.replace("http-equiv", "")


def test_nothing_checked_and_nothing_wrong(about):
    found, source, test = about
    bare = dataclasses.replace(found.mistakes[0], found=None, found_alike=None, random=(), matched=())
    page = Page(render_mistakes(dataclasses.replace(found, mistakes=(bare,)), *galleries(found, source, test)))
    assert "confirmed by training again" not in spoken(page)
    assert "the loss changes by" not in spoken(page)
    none = dataclasses.replace(found, mistakes=(), wrong=0)
    assert "explained 0" in spoken(Page(render_mistakes(none, *galleries(found, source, test))))


def test_names_from_the_data_are_escaped(about):
    found, source, test = about
    good = render_mistakes(found, *galleries(found, source, test))
    teacher = Teacher(BAD, BAD, -0.1, 0.2)
    mistake = dataclasses.replace(
        found.mistakes[0], id=BAD, label=BAD, predicted=BAD, teachers=(teacher,), alike=(teacher,)
    )
    bad = dataclasses.replace(found, source=BAD, test=BAD, model=BAD, mistakes=(mistake,))
    text = render_mistakes(bad, *galleries(found, source, test))
    assert BAD not in text
    assert Page(text).tags.count("script") == Page(good).tags.count("script")
