"""The page of a data check: whole, self-contained, escaped, and short however much was found."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import winnow
from tests.report.test_page import Page
from winnow.artefacts import Finding, Interval, Issues, Signals
from winnow.artefacts.issues import KINDS
from winnow.artefacts.issues_text import NAMES
from winnow.report.check_figure import MOST_CLASSES, confusion_square, drawn_classes
from winnow.report.check_page import MOST, NEXT, SAMPLE, TEXTS, curves_of, named, render_check, write_check
from winnow.report.pictures import make_pictures
from winnow.report.sparkline import sparkline


class Form(Page):
    EMPTY = Page.EMPTY | {"input", "polyline"}

    def cards(self):
        """The data of each card, by attribute."""
        found = []
        for _, name, value in self.attributes:
            if name == "data-card":
                found.append({})
            elif name.startswith("data-") and found and name not in ("data-act", "data-key", "data-section"):
                found[-1][name] = value
        return found


def issues_of(data, findings=(), probability=None, **changes):
    n = len(data)
    sure = np.linspace(0.95, 0, n) if probability is None else probability
    names = np.array(data.classes, dtype=object)
    ranking = {
        "id": data.ids,
        "probability": sure,
        "label": names[data.labels],
        "suggestion": np.where(sure > 0.2, names[(data.labels + 1) % len(names)], ""),
        "suggestion_probability": np.where(sure > 0.2, 0.8, np.nan),
        "evidence": np.where(sure > 0.2, "five folds of five disagree", ""),
        "flagged": sure > 0.9,
    }
    given = {
        "ranking": ranking,
        "source": "digits",
        "task": "classification",
        "classes": data.classes,
        "noise_rate": Interval(0.06, 0.05, 0.075, 5),
        "confusion": np.full((len(names), len(names)), 1 / len(names)),
    }
    return Issues.of_findings(findings, **{**given, **changes})


@pytest.fixture
def checked(make_source):
    source = make_source(n=200)
    ids = source.ids
    few = [
        Finding("duplicate", 1.0, "the same pixels", id=ids[5], other=str(ids[6]), group=0, flagged=True),
        Finding("leak", 0.99, "the same content", id=ids[7], other="ex-0003", flagged=True),
        Finding("outlier", 0.7, "far away", id=ids[8]),
        Finding("class", 0.8, "4.2 % are labelled two", subject="one and two"),
        Finding("column", 0.9, "tells the label", subject="x7"),
    ]
    return issues_of(source, few), source


def test_every_kind_has_its_section_and_words(checked, tmp_path):
    issues, source = checked
    curves = {str(id): [0.2, 0.1, 0.05] for id in source.ids}
    pictures = make_pictures(source, named(issues))
    text = write_check(issues, tmp_path / "check.html", pictures, pictures, curves).read_text()
    page = Form(text)
    kinds = ["kind-label", "kind-duplicate", "kind-leak", "kind-outlier", "kind-class", "kind-column"]
    assert page.sections == ["overview", *kinds, "next"]
    for words in (
        "An estimated 6.0 % of the labels are wrong (5.0 to 7.5 %).",
        "1 near-duplicate, 1 example that is also in the test set, 1 outlier",
        "five folds of five disagree",
        "4.2 % are labelled two",
        f"like {source.ids[6]}",
        "clean() keeps",
        "Keys: j p or arrows move",
    ):
        assert words in page.text
    cards = page.cards()
    assert len(cards) == issues.counts()["label"] + NEXT + 3
    first = cards[0]
    assert (first["data-id"], first["data-kind"]) == (str(source.ids[0]), "label")
    assert (first["data-label"], first["data-suggestion"]) == ("zero", "one")
    assert first["data-probability"] == "0.9500"
    assert page.tags.count("img") == len(cards) + 2  # the twin, and the test example
    assert text.count('class="curve"') == len(cards)
    assert "http" not in text.replace("http-equiv", "")
    assert text.count("<script>") == 1


def test_every_picture_and_button_can_be_named(checked):
    issues, source = checked
    page = Form(render_check(issues, make_pictures(source, named(issues))))
    assert all(value for tag, name, value in page.attributes if (tag, name) == ("img", "alt"))
    assert page.tags.count("img") == sum(1 for tag, name, _ in page.attributes if (tag, name) == ("img", "alt"))
    assert all(value for _, name, value in page.attributes if name == "aria-label")


def test_names_from_the_data_are_escaped(make_source):
    bad = "\"><script>alert('1')</script>&"
    source = make_source(n=20, classes=(bad, "b'\"", "c"), prefix=bad)
    few = [
        Finding("outlier", 0.5, bad, id=source.ids[3]),
        Finding("class", 0.5, bad, subject=bad),
        Finding("leak", 0.5, bad, id=source.ids[4], other=bad, label=bad, flagged=True),
    ]
    issues = issues_of(source, few, source=bad)
    for pictures in (None, make_pictures(source, named(issues))):
        text = render_check(issues, pictures)
        page = Form(text)
        assert page.tags.count("script") == 1
        assert bad not in text
        assert f"{bad}-" in page.cards()[0]["data-id"]
        assert not [name for _, name, _ in page.attributes if name.startswith("on")]


def test_a_table_shows_rows(make_source):
    columns = tuple(f"<b>{k}" for k in range(15))
    source = make_source("table", n=60, columns=columns)
    issues = issues_of(source)
    text = render_check(issues, make_pictures(source, named(issues)))
    page = Form(text)
    assert "<b>3" in page.text
    assert "b>3" not in re.sub("&lt;b&gt;3", "", text)
    assert len(page.cards()) == page.tags.count("tr") - 1


def test_ten_thousand_findings_make_a_short_page(make_source):
    source = make_source(n=10_000)
    issues = issues_of(source, probability=np.linspace(1, 0.91, 10_000))
    text = render_check(issues)
    assert len(Form(text).cards()) == MOST
    assert f"{10_000 - MOST:,} more are in" in text
    assert len(named(issues)) == MOST


def test_what_a_person_marked_is_always_shown(make_source):
    source = make_source(n=10_000)
    last = str(source.ids[-1])
    issues = issues_of(source, probability=np.linspace(1, 0.91, 10_000)).with_marks({last: False})
    cards = Form(render_check(issues)).cards()
    assert next(card for card in cards if card["data-id"] == last)["data-verdict"] == "refused"
    assert len(cards) == MOST + 1


def test_a_sample_to_mark_is_shown_if_the_share_is_uncertain(make_source):
    source = make_source(n=500)
    issues = issues_of(source, probability=np.linspace(0.99, 0, 500) ** 4, noise_rate=Interval(0.06, 0.02, 0.2, 0))
    page, ids = Form(render_check(issues)), [str(id) for id in issues.to_mark()]
    assert page.sections[:3] == ["overview", "kind-label", "kind-sample"]
    assert [card["data-id"] for card in page.cards()][-60:] == ids
    assert {card["data-kind"] for card in page.cards()} == {"label"}  # its marks are marks of labels
    assert set(ids) <= set(map(str, named(issues)))
    assert "A sample to mark" in issues.summary()
    again = issues.with_marks(dict.fromkeys(ids, "refused"))
    assert not set(map(str, again.to_mark())) & set(ids)
    assert "A sample to mark" not in again.summary()


def test_nothing_found(make_source):
    source = make_source(n=20)
    issues = issues_of(source, probability=np.zeros(20), noise_rate=None, confusion=None)
    page = Form(render_check(issues))
    assert "No issue was found in the 20 examples of digits." in page.text
    assert page.sections == ["next"]
    assert page.cards() == []


def test_examples_to_draw(checked):
    issues, source = checked
    ids = named(issues)
    assert len(ids) == len(set(ids))
    assert {source.ids[5], source.ids[6], source.ids[7]} <= set(ids)
    assert named(issues, test=True) == ["ex-0003"]
    numbers = Issues.of_findings(
        [Finding("duplicate", 1.0, "", id=2, other="1", flagged=True)],
        ranking={"id": np.arange(4), "probability": np.zeros(4)},
        source="x",
        task="unlabelled",
    )
    assert named(numbers) == [2, 1]


def test_curves_are_means_over_seeds():
    values = np.arange(12, dtype=np.float32).reshape(2, 3, 2) / 12
    signals = Signals(
        ["a", "b"], {"probabilities": values}, "classification", [0, 1], ("x", "y"), epochs=(1, 2, 3), planned_epochs=3
    )
    found = curves_of(signals, ["b", "a"])
    np.testing.assert_allclose(found["a"], values[:, :, 0].mean(axis=0))
    assert list(found) == ["b", "a"]
    plain = Signals(["a"], {"embeddings": np.ones((1, 2))}, "unlabelled")
    assert curves_of(plain, ["a"]) == {}


def test_a_curve_is_drawn_high_if_sure():
    points = re.search(r'points="([^"]+)"', sparkline([0.0, 1.0, 2.0]))[1].split()
    heights = [float(point.split(",")[1]) for point in points]
    assert heights[0] > heights[1] == heights[2]
    assert "over 1 epoch:" in sparkline([0.5])
    assert sparkline([]) == ""


def test_of_many_classes_the_most_confused_are_drawn(make_source):
    names = tuple(f"class {k}" for k in range(30))
    confusion = np.eye(30)
    confusion[29, 3] = 0.5
    assert {3, 29} <= set(drawn_classes(confusion))
    assert len(drawn_classes(confusion)) == MOST_CLASSES
    issues = issues_of(make_source(n=60, classes=names), confusion=confusion)
    drawn = [label.get_text() for label in confusion_square(issues).axes[0].get_yticklabels()]
    assert "class 29" in drawn
    assert "classes that are confused most" in render_check(issues)


def test_every_kind_has_words():
    assert set(TEXTS) - {SAMPLE} == set(NAMES) == set(KINDS)


def test_a_key_of_the_page_means_what_it_means_in_the_viewer() -> None:
    package = Path(winnow.__file__).parent
    page = (package / "report/templates/check.js").read_text()
    viewer = (package / "viewer/static/app.js").read_text()
    marks = dict(re.findall(r'(\w): "(\w+)"', re.search(r"const keys = {(.*?)}", page)[1]))  # type: ignore[index]
    moves = re.findall(r"\b(\w): \(\) =>", re.search(r"const moves = {(.*?)};", page, re.S)[1])  # type: ignore[index]
    others = re.findall(r'event.key === "([^"]+)"', page[page.index("const moves") :])
    theirs = set(re.findall(r'(?:\b(\w)|"(.)"):', re.search(r"const keys = {(.*?)};", viewer, re.S)[1]))  # type: ignore[index]
    same = {"w": "confirmed", "r": "refused", "x": "clear", "/": "search"}
    assert {key for pair in theirs for key in pair if key} >= {*same, "s", "k", "u"}
    assert set(others) >= {"x", "/"}
    assert {key: said for key, said in marks.items() if key in same} == {"w": "confirmed", "r": "refused"}
    shared = {*marks, *moves, *others} & {key for pair in theirs for key in pair if key}
    assert shared == set(same)
    assert 'act("wrong")' in viewer
    assert 'x: () => act("clear")' in viewer
