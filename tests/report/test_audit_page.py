"""The page of an audit: what it shows, and that nothing of the data is markup."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tests.report.test_page import Page
from winnow.artefacts.audit import Audit, ClassShare, InsideIssue, Measure
from winnow.report.audit_page import MOST, render_audit, write_audit
from winnow.report.pictures import make_pictures

BAD = "<script>alert(1)</script>"
USUAL = tuple(np.linspace(0.9, 1.1, 10))


def spoken(page):
    """The text of a page, with a gap between any two tags."""
    return " ".join(" ".join(page.said).replace("\xa0", " ").split()).replace(" , ", ", ")


@pytest.fixture
def about(make_source):
    source = make_source()
    first, other = (str(source.ids[i]) for i in (0, 1))
    found = Audit(
        subset="kept.csv",
        source="digits",
        examples=1000,
        size=100,
        weighted=True,
        effective_size=80.4,
        features="features of mlp, trained on all data",
        measures=(
            Measure("head change", "how far a head moves", 0.2, USUAL),
            Measure("forecast", "accuracy on the test data", 0.5, USUAL, whole=0.97, higher=True),
            Measure("moment error", "of order 2", 1.01, USUAL),
        ),
        draws=10,
        classes=(ClassShare("zero", 500, 90, 0.5, 0.9), ClassShare("one", 500, 0, 0.5, 0.0)),
        class_balance=(0.1, 1.0),
        deciles=tuple(np.linspace(0, 0.2, 10)),
        found={"duplicate": 1, "label": 1},
        issues=(
            InsideIssue("label", first, "zero", 0.9, "labelled zero, looks like one"),
            InsideIssue("duplicate", other, "one", 1.0, f"the same as {first}"),
        ),
        notes=("No example of one is kept.",),
    )
    return found, source


def test_everything_is_on_the_page(about, tmp_path):
    found, source = about
    path = write_audit(found, make_pictures(source, [one.id for one in found.issues]), tmp_path / "audit.html")
    text = path.read_text()
    page = Page(text)
    assert page.sections == ["notes", "measures", "difficulty", "classes", "issues"]
    for words in (
        "kept.csv: 100 of 1,000 examples, clearly better than random in 1 and worse in 1 of 3 measures.",
        "effective size 80",
        "class balance 0.100 all data 1.000",
        "No example of one is kept.",
        "head change how far a head moves",
        "0.5 1 0.9 to 1.1 0.97 worse than random",
        "1.01 1 0.9 to 1.1 like random",
        "zero 500 90 50.0 % 90.0 %",
        "labelled zero, looks like one",
        "99 of 100 random subsets fall within the band",
    ):
        assert words in spoken(page), words
    assert page.tags.count("svg") == 1 + 2  # the mark and two figures
    assert page.tags.count("img") == 2
    assert "http" not in text.replace("http-equiv", "")


def test_the_class_that_is_short_comes_first_and_many_are_cut(about):
    found, _ = about
    page = Page(render_audit(found, None))
    assert spoken(page).index("one 500 0") < spoken(page).index("zero 500 90")
    many = tuple(ClassShare(f"c{i}", 10, 5, 0.01, 0.01) for i in range(100))
    page = Page(render_audit(dataclasses.replace(found, classes=many), None))
    assert f"{100 - MOST} more are in audit.json" in spoken(page)


def test_without_random_subsets_classes_or_difficulty(about):
    found, _ = about
    bare = dataclasses.replace(
        found,
        measures=(Measure("distance", "to the nearest", 0.1),),
        classes=(), class_balance=None, deciles=(), found={}, issues=(), notes=(), draws=0, weighted=False,
    )  # fmt: skip
    page = Page(render_audit(bare, None))
    assert page.sections == ["measures"]
    assert page.tags.count("svg") == 1


def test_names_from_the_data_are_escaped(about):
    found, _ = about
    bad = dataclasses.replace(
        found,
        subset=BAD,
        source=BAD,
        features=BAD,
        notes=(BAD,),
        classes=(ClassShare(BAD, 1, 1, 0.5, 0.5),),
        measures=(Measure(BAD, BAD, 0.2, USUAL),),
        issues=(InsideIssue("label", BAD, BAD, 0.9, BAD),),
    )
    text = render_audit(bad, None)
    assert BAD not in text
    assert Page(text).tags.count("script") == Page(render_audit(found, None)).tags.count("script")
