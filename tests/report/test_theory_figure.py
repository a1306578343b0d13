from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import matplotlib
import numpy as np
import pytest

from winnow.core.errors import InputError
from winnow.report.palette import LIGHT
from winnow.report.svg import to_svg
from winnow.report.theory_figure import Line, PointMarks, draw_theory, theory_figure

ALPHA = np.geomspace(0.1, 10, 9)


def line(name, factor=1.0, marks=None):
    return Line(name, ALPHA, factor / (1 + ALPHA), marks)


def texts(figure):
    return [node.text for node in ET.fromstring(to_svg(figure, "a figure", "f")).iter("text")]


def test_every_line_bears_its_name_at_its_end():
    figure = theory_figure([line("hard", 0.5), line("easy", 0.2)], reference=line("random"), title="keep 0.2")
    axes = figure.axes[0]
    assert {"hard", "easy", "random", "keep 0.2", "kept examples per dimension", "error on new data"} <= set(
        texts(figure)
    )
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    drawn = {one.get_label(): one for one in axes.lines}
    np.testing.assert_array_equal(drawn["hard"].get_ydata(), 0.5 / (1 + ALPHA))
    assert drawn["random"].get_color() == LIGHT["random"]
    heights = {note.get_text(): note.xy[1] for note in axes.texts}
    assert heights["easy"] == pytest.approx(0.2 / 11)
    assert heights["random"] == pytest.approx(1 / 11)


def test_names_of_lines_that_end_together_are_pushed_apart_and_stay_inside():
    figure = theory_figure([line(f"line {i}", 1 - 1e-6 * i) for i in range(9)])
    axes = figure.axes[0]
    low, high = np.log10(axes.get_ylim())
    heights = np.sort([np.log10(note.xy[1]) for note in axes.texts])
    assert np.diff(heights).min() == pytest.approx(0.065 * (high - low), rel=1e-6)
    assert heights[-1] <= high + 1e-9
    top = theory_figure([Line(f"line {i}", ALPHA, 1.0 + ALPHA) for i in range(9)]).axes[0]
    assert max(note.xy[1] for note in top.texts) <= top.get_ylim()[1] * (1 + 1e-9)


def test_lines_that_end_together_are_named_in_the_order_in_which_they_came():
    above, below = 2 / (1 + ALPHA), 1 / (1 + ALPHA)
    above[-1], below[-1] = 0.05, 0.05 * (1 + 1e-9)
    for lines in ([Line("above", ALPHA, above), Line("below", ALPHA, below)], [Line("below", ALPHA, below)]):
        figure = theory_figure(lines, reference=Line("top", ALPHA, above * np.where(ALPHA < 10, 2, 1)))
        heights = {note.get_text(): note.xy[1] for note in figure.axes[0].texts}
        assert sorted(heights, key=heights.__getitem__) == [n for n in ("below", "above", "top") if n in heights]


def test_points_are_joined_in_order_of_alpha():
    figure = theory_figure([Line("x", [3.0, 1.0, 2.0], [0.3, 0.1, 0.2])])
    assert figure.axes[0].lines[0].get_xdata().tolist() == [1.0, 2.0, 3.0]
    assert figure.axes[0].lines[0].get_ydata().tolist() == [0.1, 0.2, 0.3]


def test_simulated_points_have_two_standard_errors_and_are_explained():
    marks = PointMarks([1.0, 2.0], [0.5, 0.3], [0.01, 0.02])
    figure = theory_figure([line("hard", marks=marks)], title="keep 0.2")
    (bars,) = figure.axes[0].containers
    ends = [segment[:, 1].tolist() for segment in bars[2][0].get_segments()]
    assert np.ravel(ends) == pytest.approx([0.48, 0.52, 0.26, 0.34])
    assert "simulated, with 2 standard errors" in " ".join(texts(figure))
    assert "simulated" not in " ".join(texts(theory_figure([line("hard")])))


def test_few_points_are_shown_and_many_are_a_line():
    many = Line("many", np.geomspace(1, 10, 60), np.geomspace(1, 10, 60))
    drawn = {one.get_label(): one.get_marker() for one in theory_figure([many, line("few")]).axes[0].lines}
    assert drawn["many"] == "None"
    assert drawn["few"] != "None"
    simulated = theory_figure([line("few", marks=PointMarks([1.0], [0.5], [0.1]))]).axes[0].lines[0]
    assert simulated.get_marker() == "None"


@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_ticks_are_plain_numbers(scale):
    figure = theory_figure([Line("x", ALPHA, scale ** np.linspace(0.1, 1, 9))])
    ticks = [text for text in texts(figure) if re.fullmatch(r"[\d.e-]+", text)]
    assert {"0.1", "1", "10"} <= set(ticks)
    assert "math" not in " ".join(texts(figure))


def test_colours_come_from_the_page():
    svg = to_svg(theory_figure([line(f"l{i}", i + 1) for i in range(7)], reference=line("random")), "t", "x")
    assert not re.search(r"#[0-9a-f]{6}", svg)


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_equal_figures_are_equal_files_whatever_the_users_settings(kind, tmp_path):
    one = draw_theory([line("hard")], tmp_path / f"one.{kind}")
    with matplotlib.rc_context({"font.size": 30, "svg.fonttype": "path", "axes.grid": False}):
        two = draw_theory([line("hard")], tmp_path / f"two.{kind}")
    assert one.read_bytes() == two.read_bytes()
    assert one.stat().st_size > 1000


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([], "at least one curve"),
        ([Line("x", [1.0, 2.0], [0.1])], "the line 'x' must have 2 rows"),
        ([Line("x", [0.0, 2.0], [0.1, 0.1])], "must be above 0"),
        ([Line("x", [1.0], [np.nan])], "must be finite"),
    ],
)
def test_bad_lines_are_refused(lines, words):
    with pytest.raises(InputError, match=re.escape(words)):
        theory_figure(lines)


def test_a_name_that_says_no_format_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"must end in \.png, \.svg or \.pdf"):
        draw_theory([line("x")], tmp_path / "curves")
    assert not list(tmp_path.iterdir())
