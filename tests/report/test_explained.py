"""The page of an explanation, and the section that a run's report gains from one."""

from __future__ import annotations

import dataclasses
import re

import pytest

from tests.report.test_page import Page, page_of
from winnow.artefacts.explanation import ClassPair, DatasetExplanation, Explanation, LabelError, Partner, Standing
from winnow.artefacts.explanation_text import caution
from winnow.report.explanation_page import render_explanation, write_explanation
from winnow.report.pictures import make_pictures
from winnow.report.teaching_section import MOST, case, drawn_classes, relations_square


def partner(source, i, cosine=0.9):
    return Partner(str(source.ids[i]), source.classes[source.labels[i]], cosine, 0.9 * cosine)


@pytest.fixture
def about(make_source):
    """An explanation of made-up numbers about a source of pictures."""
    source = make_source()
    names = source.classes
    standings = [
        Standing(
            str(source.ids[i]),
            names[source.labels[i]],
            (partner(source, i + 4), partner(source, i + 8, 0.5)),
            (partner(source, i + 1, -0.95),),
            7,
            2,
            partner(source, i + 12) if i else None,
        )
        for i in range(3)
    ]
    pairs = [ClassPair(name, name, 100, 40, 0, 0.8) for name in names]
    pairs += [ClassPair(a, b, 200, 0, 9, -0.3) for n, a in enumerate(names) for b in names[n + 1 :]]
    error = LabelError(standings[0].id, standings[0].label, 0.61, 0.4, names[1], str(source.ids[1]))
    found = DatasetExplanation(
        "digits", "mlp", 1000, 800, 400, names, 1600, 160, 54, 0.75, tuple(pairs), 5, (error,), tuple(standings)
    )
    return found, source


def test_a_data_set_has_classes_errors_and_partners(about):
    found, source = about
    pictures = make_pictures(source, found.named())
    text = render_explanation(found, pictures)
    page = Page(text)
    assert page.sections == ["teaching"]
    for words in (
        "5 of 800 labels look wrong",
        "The 1 most likely are shown",
        f"Suggests {found.classes[1]}",
        "Learned together with it (7 interchangeable)",
        "Learned against it (2 contradictory)",
        "Pairs were counted among 400 examples",
        "they are more likely wrong than right",
        "the projection, which partners are ranked by",
    ):
        assert words in page.text
    assert page.tags.count("img") == 1 + 1 + 3  # itself, its witness, its three partners
    assert "http" not in text.replace("http-equiv", "")
    assert page.tags.count("svg") == 2
    assert "var(--m1)" in text
    assert "var(--m2)" in text


def test_names_from_the_data_are_escaped(about):
    found = about[0]
    bad = "<script>alert(1)</script>"
    pairs = tuple(dataclasses.replace(pair, one=bad) for pair in found.relations)
    text = render_explanation(
        dataclasses.replace(found, relations=pairs, classes=(bad, *found.classes[1:]), source=bad), None
    )
    assert bad not in text
    assert Page(text).tags.count("script") == 1


def test_without_pictures_ids_and_labels_stand_alone(about):
    page = Page(render_explanation(about[0], None))
    assert "img" not in page.tags
    assert str(about[0].errors[0].witness) in page.text


def test_one_example_and_its_partners(about, tmp_path):
    found, source = about
    held = found.standings[1]
    one = Explanation(
        held.id, held.label, "two", "digits", "mlp", 1000, held.same_way, held.against, 7, 2, 0.75, 3.5, 12,
        0.6, 1, 0.4, True, "two", str(source.ids[2]),
    )  # fmt: skip
    page = Page(write_explanation(one, make_pictures(source, one.named()), tmp_path / "one.html").read_text())
    assert "looks wrong" in page.text
    assert "Suggests two" in page.text
    assert page.tags.count("img") == 1 + 1 + 3
    said = re.sub(r"\s+", " ", page.text).replace(" ,", ",")
    assert "0.81, cosine 0.90" in said
    assert "\N{MINUS SIGN}0.85, cosine \N{MINUS SIGN}0.95" in said  # -0.855 is a little less in binary
    right = Page(render_explanation(dataclasses.replace(one, looks_wrong=False), None))
    assert "looks right" in right.text
    assert "Suggests" not in right.text


def test_a_label_that_nobody_shares_is_not_called_right(about):
    held = about[0].standings[1]
    alone = Explanation(
        held.id, "zero", "two", "digits", "mlp", 1000, held.same_way, held.against, 7, 2, 0.75, 3.5, 12, peers=0
    )
    page = Page(render_explanation(alone, None))
    assert "Its label, zero, cannot be judged: no other example has label zero." in page.text
    assert "looks right" not in page.text + str(alone)
    many = dataclasses.replace(alone, peers=None)
    assert "was not judged: there are too many examples" in Page(render_explanation(many, None)).text


def test_bold_goes_by_the_projection_that_is_shown(about):
    held = dataclasses.replace(
        about[0].standings[1], same_way=(Partner("a", "zero", 0.76, 0.74), Partner("b", "zero", 0.75, 0.75))
    )
    shown = case(held, 0.75, {})["same_way"]
    assert [(one["projection"], one["cosine"], one["strong"]) for one in shown] == [
        ("0.74", "0.76", False),
        ("0.75", "0.75", True),
    ]


def test_caution_fits_the_number_of_classes(about):
    def said(many):
        return " ".join(caution(dataclasses.replace(about[0], classes=tuple(map(str, range(many))))))

    assert "With 2 classes this is by construction" in said(2)
    assert "cosine of about -0.33" in said(3)
    assert "cosine of about 0.60" in said(10)


@pytest.mark.parametrize("kind", ["table", "tensor"])
def test_rows_and_tensors_are_said_in_numbers(kind, make_source):
    source = make_source(kind, 60)
    near = Standing(str(source.ids[0]), "zero", (partner(source, 4),), (), 1, 0)
    one = Explanation(near.id, "zero", "zero", "x", "mlp", 60, near.same_way, (), 1, 0, 0.75, 1.0, 1)
    page = Page(render_explanation(one, make_pictures(source, one.named())))
    assert "None." in page.text
    first = make_pictures(source, [near.id]).sections["shown"][0]
    for said in first.facts.values() if kind == "tensor" else first.row[:4]:
        assert said in page.text


def test_of_many_classes_those_in_the_strongest_pairs_are_drawn(about):
    names = tuple(f"c{i:03d}" for i in range(60))
    pairs = tuple(ClassPair(name, name, 10, 5, 0, 0.9) for name in names)
    pairs += tuple(ClassPair(names[i], names[i + 1], 10, 5, 0, 0.9 - i / 100) for i in range(59))
    many = dataclasses.replace(about[0], classes=names, relations=pairs)
    assert drawn_classes(many) == list(names[:MOST])
    assert len(relations_square(many).axes[0].patches) == MOST + 2 * (MOST - 1)
    assert drawn_classes(about[0]) == list(about[0].classes)


def test_a_report_gains_a_section_where_the_run_has_relations(make_run, about):
    found, source = about
    run = make_run(source=source)
    assert "teaching" not in page_of(run).sections
    found.save(run / "relations.json")
    make_pictures(source, found.named()).save(run / "relations-pictures.json")
    page = page_of(run)
    assert "teaching" in page.sections
    assert ("a", "href", "#teaching") in page.attributes
    assert "How examples teach each other" in page.text
    assert "A dashed frame marks dropped examples" in page.text
