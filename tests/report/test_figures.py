from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import matplotlib
import numpy as np
import pytest

from winnow.artefacts import Scores, Subset
from winnow.artefacts.ledger import ledger
from winnow.report import figures
from winnow.report.class_section import per_class
from winnow.report.palette import DARK, LIGHT


def texts(svg):
    return [node.text for node in ET.fromstring(svg).iter("text")]


@pytest.fixture
def scores():
    values = np.random.default_rng(0).normal(size=500)
    return Scores("el2n", np.arange(500), values)


def all_figures(study, scores):
    subset = Subset(scores.ids[scores.values > 0])
    yield figures.accuracy_against_fraction(study)
    yield figures.score_histogram(scores, subset)
    yield per_class(study, "el2n@0.4", [(name, 40, 100) for name in study.classes])
    yield figures.ledger_bar(ledger(study))


def test_light_values_are_different_and_dark_ones_complete():
    assert len(set(LIGHT.values())) == len(LIGHT)
    assert LIGHT.keys() == DARK.keys()


def test_drawings_take_every_colour_and_font_from_the_page(make_study, scores):
    for figure in all_figures(make_study(keeps=(0.2, 0.4)), scores):
        svg = figures.to_svg(figure, "a figure", "f")
        assert not re.search(r"#[0-9a-f]{6}", svg)
        assert set(re.findall(r"var\(--(\w+)\)", svg)) <= set(LIGHT)
        assert "font-family" not in svg
        assert "http" not in svg
        ET.fromstring(svg)


def test_the_same_figure_is_the_same_bytes_and_ids_are_its_own(make_study, scores):
    study = make_study()
    one = [figures.to_svg(figure, "t", "x") for figure in all_figures(study, scores)]
    two = [figures.to_svg(figure, "t", "x") for figure in all_figures(study, scores)]
    assert one == two
    other = figures.to_svg(figures.accuracy_against_fraction(study), "t", "y")
    ids = re.findall(r' id="([^"]+)"', one[0]), re.findall(r' id="([^"]+)"', other)
    assert ids[0]
    assert not set(ids[0]) & set(ids[1])
    assert set(re.findall(r"#(x-[^\")]+)", one[0])) == set(ids[0])


def test_names_that_look_like_ids_colours_or_links_are_left_as_they_are(make_study):
    names = ('id="a"', LIGHT["ink"], "url(#x)", "font: 9px")
    svg = figures.to_svg(per_class(make_study(classes=names), "el2n@0.4"), "t", "x")
    assert set(names) <= set(texts(svg))


def test_a_users_own_settings_neither_change_nor_are_changed(make_study):
    study = make_study()
    usual = figures.to_svg(figures.accuracy_against_fraction(study), "t", "x")
    with matplotlib.rc_context({"axes.grid": True, "font.size": 30, "lines.linewidth": 9, "svg.fonttype": "path"}):
        before = dict(matplotlib.rcParams)
        assert figures.to_svg(figures.accuracy_against_fraction(study), "t", "x") == usual
        assert dict(matplotlib.rcParams) == before


def test_methods_are_joined_over_fractions_and_full_is_named(make_study):
    figure = figures.accuracy_against_fraction(make_study(keeps=(0.2, 0.4)))
    lines = [c for c in figure.axes[0].containers if c.get_label() in {"el2n", "random"}]
    assert {c.get_label() for c in lines} == {"el2n", "random"}
    assert all(len(c[0].get_xdata()) == 2 for c in lines)
    ours = next(c for c in lines if c.get_label() == "el2n")
    assert ours[0].get_ydata() == pytest.approx([92.0, 92.0])
    assert any(text.startswith("full data, 95.0") for text in texts(figures.to_svg(figure, "t", "x")))


def test_one_seed_draws_no_interval(make_study):
    figure = figures.accuracy_against_fraction(make_study(seeds=1))
    bars = next(c for c in figure.axes[0].containers if c.get_label() == "el2n")
    low, high = bars[2][0].get_segments()[0][:, 1]
    assert low == high


def test_many_methods_get_a_legend(make_study):
    methods = tuple("abcdefgh")
    svg = figures.to_svg(figures.accuracy_against_fraction(make_study(methods=methods)), "t", "x")
    assert set(methods) <= set(texts(svg))


def test_histogram_counts_every_example_once(scores):
    subset = Subset(scores.ids[:200])
    axes = figures.score_histogram(scores, subset).axes[0]
    kept, dropped = (sum(bar.get_height() for bar in c) for c in axes.containers)
    assert (kept, dropped) == (200, 300)


@pytest.mark.parametrize(
    "values", [np.zeros(50), np.arange(50) % 7, np.r_[np.linspace(0, 1, 999), 1e6], np.full(3, 0.25)]
)
def test_histogram_of_awkward_scores(values):
    axes = figures.score_histogram(Scores("odd", np.arange(values.size), values)).axes[0]
    assert sum(bar.get_height() for bar in axes.containers[0]) == values.size
    assert all(bar.get_width() > 0 for bar in axes.containers[0])
    if values.max() == 1e6:
        assert "last bar: all larger values" in axes.get_xlabel()


def test_classes_are_drawn_from_gain_to_loss_and_only_the_extremes_of_many(make_study):
    study = make_study(classes=tuple(f"c{k}" for k in range(60)))
    axes = per_class(study, "el2n@0.4", most=10).axes[0]
    assert len(axes.get_yticks()) == 10


def test_hostile_names_are_only_text(make_study):
    names = ("<script>alert(1)</script>", "$\\frac{1}{2}$ ]]>", "a&b\x00\x1b", "\N{GRINNING FACE}\u65e5\u672c")
    svg = figures.to_svg(per_class(make_study(classes=names), "el2n@0.4"), '"><script>', "x")
    assert "<script" not in svg
    shown = texts(svg)
    assert any(text.startswith("<script>alert(1)</scr") for text in shown)
    assert "$\\frac{1}{2}$ ]]>" in shown


def test_ledger_bars_add_up(make_study):
    figure = figures.ledger_bar(ledger(make_study()))
    assert any(text.replace("\xa0", " ") == "13.0 s" for text in texts(figures.to_svg(figure, "t", "x")))


def test_ledger_of_unknown_costs_is_drawn(make_study):
    figure = figures.ledger_bar(ledger(make_study(selection={})))
    assert "observing" not in texts(figures.to_svg(figure, "t", "x"))
