"""The page in a real browser: what a person does with it, by mouse and by keyboard."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import winnow as wn
from tests.viewer.browser import Hands, Watched, at_rest, browser, in_view
from tests.viewer.test_attacks import EVIL, evil_source
from winnow.artefacts.decisions import read_decisions


@pytest.fixture(scope="module")
def chromium():
    with browser() as opened:
        yield opened


@pytest.fixture
def opened(chromium, own, digits):
    """Open a copy of a run; at the end nothing may have gone wrong, and nothing was requested from elsewhere."""
    shown: list[tuple[wn.viewer.view.Viewer, Watched]] = []

    def show(kind: str, **context) -> Watched:
        viewer = wn.view(own(kind), digits)
        watched = Watched(chromium, viewer.url, **context)
        watched.viewer, watched.answers = viewer, viewer._server.answers
        shown.append((viewer, watched))
        return watched

    yield show
    for viewer, watched in shown:
        watched.close()
        viewer.stop()


def cells(page) -> list[str]:
    """The rows that the grid shows, in its order, by their pictures."""
    at_rest(page)
    return page.eval_on_selector_all(
        ".cell", "all => all.sort((a, b) => a.id.slice(5) - b.id.slice(5)).map(one => one.said?.row)"
    )


def settled(page, script: str, **given) -> None:
    page.wait_for_function(script, **given)


def test_open_and_sort(opened):
    shown = opened("check")
    page, table = shown.page, shown.answers.table
    shown.drawn()
    assert page.title() == "check · winnow view"
    in_view(page, f"{table.n} examples")
    worst = table.order("probability that it is wrong")[: table.known("probability that it is wrong")][::-1]
    assert cells(page)[:5] == worst[:5].tolist()
    page.select_option("#sort", "class")
    first = int(table.order("class")[0])
    settled(page, "row => document.getElementById('cell-0')?.said?.row === row", arg=first)
    assert not page.is_checked("#descending")
    page.check("#descending")
    last = int(table.order("class")[-1])
    settled(page, "row => document.getElementById('cell-0')?.said?.row === row", arg=last)


def test_filters_ranges_and_search(opened):
    shown = opened("check")
    page, table = shown.page, shown.answers.table
    page.select_option("#filter-class", "3")
    in_view(page, f"{int((table.labels == 3).sum())} examples")
    page.click("#clear")
    in_view(page, f"{table.n} examples")
    page.fill("#search", str(table.source.ids[9]))
    in_view(page, "1 example")
    assert cells(page) == [9]
    page.click("#clear")
    assert page.input_value("#search") == ""
    page.click("summary:has-text('Score range')")
    slider = page.get_by_label("smallest loss, last epoch")
    slider.focus()
    page.keyboard.press("End")
    page.wait_for_function("() => Number(document.getElementById('count').textContent.split(' ')[0]) < 20")


def test_a_lasso_on_the_map_filters_the_grid(opened):
    shown = opened("check")
    page, answers = shown.page, shown.answers
    shown.drawn()
    page.click("#lasso")
    box = page.locator("#map").bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    side = box["height"] * 0.25
    corners = [(-side, -side), (side, -side), (side, side), (-side, side), (-side, -side)]
    page.mouse.move(middle[0] + corners[0][0], middle[1] + corners[0][1])
    page.mouse.down()
    for x, y in corners[1:]:
        page.mouse.move(middle[0] + x, middle[1] + y, steps=12)
    page.mouse.up()
    page.wait_for_selector("#clear")
    total = int(page.text_content("#count").split()[0])
    points = answers.drawn.points
    inside = int((np.abs(points) < 0.5).all(axis=1).sum())
    assert 0 < total < answers.table.n
    assert abs(total - inside) <= 0.15 * answers.table.n  # as drawn by hand
    page.click("#reset-map")
    in_view(page, f"{answers.table.n} examples")


def test_the_keyboard_can_look_around_on_the_map(opened):
    shown = opened("check")
    shown.drawn()
    shown.page.keyboard.press("ArrowRight")
    shown.page.keyboard.press("n")
    shown.page.wait_for_selector("#clear")
    assert int(shown.page.text_content("#count").split()[0]) < shown.answers.table.n


def test_an_example_its_neighbour_and_marks_on_what_is_shown(opened):
    shown = opened("check")
    page, answers = shown.page, shown.answers
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_selector("#panel .marking")
    first = cells(page)[0]
    assert str(answers.source.ids[first]) in page.text_content("#panel .id")
    for title in ("Issues", "Scores", "Learning curves", "Nearest"):
        assert page.locator(f"#panel h3:has-text('{title}')").count() == 1
    near = answers.example({"row": str(first)})["near"][0]["row"]
    page.click("#panel .others .other >> nth=0")
    settled(
        page, "id => document.querySelector('#panel .id').textContent.includes(id)", arg=str(answers.source.ids[near])
    )
    page.keyboard.press("d")  # marks the neighbour, which is shown, and not the example it was reached from
    page.wait_for_selector("#mark-drop[aria-pressed=true]")
    assert {row: one.choice for row, one in answers.marks.said.items()} == {near: "drop"}
    page.keyboard.press("Escape")
    assert page.is_hidden("#panel")


def test_mark_undo_and_reload_keeps_the_marks(opened):
    shown = opened("check")
    page, answers = shown.page, shown.answers
    page.keyboard.press("ArrowRight")
    row = cells(page)[0]
    page.keyboard.press("w")
    page.wait_for_selector(".badge.mark:has-text('wrong')")
    assert answers.marks.of(row).verdict == "confirmed"
    page.keyboard.press("u")
    page.wait_for_selector(".badge.mark", state="detached")
    assert not answers.marks.said
    page.keyboard.press("s")
    page.wait_for_selector(".badge.mark:has-text('→')")
    expected = answers.brief({"row": str(row)})["suggestion"]
    assert answers.marks.of(row).correction == expected
    page.keyboard.press("ArrowRight")
    page.keyboard.press("k")
    page.wait_for_selector(".badge.mark:has-text('keep')")
    page.reload()  # the address has no token any more, and the tab remembers it
    page.wait_for_selector(".badge.mark:has-text('→')")
    assert "1 corrected" in page.text_content("#marks-said")
    assert read_decisions(answers.marks.path)[str(answers.source.ids[row])].correction == expected
    page.keyboard.press("ArrowRight")
    page.keyboard.press("x")
    page.wait_for_selector(".badge.mark:has-text('→')", state="detached")


def test_several_examples_take_their_own_suggestions(opened):
    shown = opened("check")
    page, answers = shown.page, shown.answers
    page.select_option("#filter-issue", "label")
    flagged = len(answers.table.suggestions)
    in_view(page, f"{flagged} examples")
    page.focus("#grid")
    page.keyboard.press("Home")
    for _ in range(2):
        page.keyboard.press("Shift+ArrowRight")
    rows = cells(page)[:3]
    page.keyboard.press("s")
    page.wait_for_function("() => document.querySelectorAll('.badge.mark').length === 3")
    assert {row: one.correction for row, one in answers.marks.said.items()} == {
        row: answers.table.suggestions[row] for row in rows
    }


def test_what_is_marked_leaves_the_view_of_what_is_not(opened):
    shown = opened("check")
    page, answers = shown.page, shown.answers
    page.select_option("#filter-mark", "none")
    at_rest(page)  # the count stays the same, so it cannot be waited for
    page.focus("#grid")
    page.keyboard.press("Home")
    first, second = cells(page)[:2]
    page.keyboard.press("r")
    in_view(page, f"{answers.table.n - 1} examples")
    settled(page, "row => document.getElementById('cell-0')?.said?.row === row", arg=second)
    page.keyboard.press("r")
    in_view(page, f"{answers.table.n - 2} examples")
    assert set(answers.marks.said) == {first, second}


def test_change_the_fraction_and_see_what_enters(opened):
    shown = opened("prune")
    page = shown.page
    page.click("summary:has-text('What if')")
    page.wait_for_selector("#compared table")
    assert page.text_content("#show-enters").endswith(" 0")
    page.focus("#keep-b")
    page.keyboard.press("End")
    page.wait_for_function("() => !document.getElementById('show-enters').textContent.endsWith(' 0')")
    entering = int(page.text_content("#show-enters").split()[-1])
    assert entering == shown.answers.table.n - len(shown.answers.run.subsets["this run"])
    page.click("#show-enters")
    in_view(page, f"{entering} examples")
    page.select_option("#method-b", "random")
    page.wait_for_function("() => document.getElementById('keep-said-b').textContent === '1.000'")


def test_the_run_itself(opened):
    shown = opened("proof")
    page = shown.page
    page.click("#tab-run")
    page.wait_for_selector("img.figure")
    settled(
        page, "() => [...document.querySelectorAll('img.figure')].every(one => one.complete && one.naturalWidth > 0)"
    )
    for title in ("Study", "Ledger", "Provenance"):
        assert page.locator(f"#run h2:has-text('{title}')").count() == 1
    page.click("#theme")
    assert page.get_attribute("html", "data-theme") == "dark"


def test_a_narrow_screen_and_a_dark_one_fit(opened):
    shown = opened("check", viewport={"width": 400, "height": 800}, color_scheme="dark")
    page = shown.page
    assert page.get_attribute("html", "data-theme") == "dark"
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_selector("#panel .marking")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.keyboard.press("Escape")


def test_everything_has_a_name_and_a_contrast(opened):
    """Controls are named for screen readers, and text is readable on its ground in both themes."""
    shown = opened("check")
    page = shown.page
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_selector("#panel .marking")
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('button, select, input, a, img, iframe, [role]')].filter(one =>
             !(one.textContent.trim() || one.getAttribute('aria-label') || one.title || one.labels?.length
               || one.hasAttribute('alt') || ['alert', 'status'].includes(one.getAttribute('role'))))
             .map(one => one.outerHTML.slice(0, 120))"""
    )
    assert nameless == []
    for _ in range(2):
        assert page.evaluate(FAINT) == []
        page.click("#theme")


FAINT = """() => {
  const part = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map((one) => part(Number(one) / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (one) => {
    for (let at = one; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (!colour.endsWith(', 0)')) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const found = [];
  for (const one of document.querySelectorAll('body *')) {
    const own = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !one.checkVisibility() || one.closest(':disabled, svg, option, .skip, #notice')) continue;
    const [a, b] = [light(getComputedStyle(one).color), light(ground(one))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) found.push(`${one.tagName} ${one.className} ${one.textContent.slice(0, 30)}`);
  }
  return found;
}"""


def test_scripts_in_the_data_do_nothing(chromium, tmp_path):
    source = evil_source()
    run = tmp_path / "<img src=x onerror=alert(1)>"
    wn.check(source, recipe=wn.Recipe(epochs=1), out=run)
    with wn.view(run, source) as viewer:
        shown = Watched(chromium, viewer.url)
        page = shown.page
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        page.wait_for_selector("#panel blockquote")
        assert any(page.text_content("#panel blockquote").startswith(word) for word in EVIL)
        assert (
            page.evaluate(
                "document.querySelectorAll('#panel script, #grid script, #panel svg[onload], img[onerror]').length"
            )
            == 0
        )
        page.click("#tab-run")
        page.wait_for_selector("#run pre")
        shown.close()


def test_without_its_token_the_page_only_shows(chromium, own, digits):
    with wn.view(own("check"), digits) as viewer:
        shown = Watched(chromium, viewer.url.partition("#")[0])
        assert "Opened without its token" in shown.page.text_content("#notice")
        shown.page.keyboard.press("ArrowRight")
        shown.page.keyboard.press("d")
        shown.page.wait_for_function("() => document.getElementById('notice').textContent.includes('cannot be saved')")
        assert not viewer._server.answers.marks.said
        shown.close()


ALONE = """row => document.getElementById('cell-0')?.said?.row === row
  && document.getElementById('count').textContent === '1 example'"""


def made_up_pictures() -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Small pictures of two colours, for machines without CIFAR-10."""
    rng = np.random.default_rng(0)
    labels = np.arange(240) % 2
    pictures = rng.integers(0, 120, size=(240, 3, 16, 16))
    pictures[labels == 0, 1] += 90
    pictures[labels == 1, 2] += 90
    return pictures.astype(np.uint8), labels, ("frog", "ship")


def pictures(where: Path) -> wn.artefacts.Source:
    """CIFAR-10's frogs and ships if the data are at hand, otherwise made-up ones."""
    try:
        whole = wn.open("cifar10", limit=2400)
        held = np.flatnonzero(np.isin(whole.labels, [whole.classes.index(name) for name in ("frog", "ship")]))[:300]
        values, labels = whole.fetch(whole.ids[held]), (whole.labels[held] == whole.classes.index("ship")).astype(int)
    except wn.errors.WinnowError:
        values, labels, _ = made_up_pictures()
    return wn.open((values, np.array(["frog", "ship"])[labels]), name="pictures")


def texts(where: Path) -> wn.artefacts.Source:
    """SST-2 if it is at hand, otherwise made-up sentences."""
    try:
        return wn.open("sst2", limit=1200)
    except wn.errors.WinnowError:
        rng = np.random.default_rng(1)
        words = {"positive": ["fine", "lovely", "great"], "negative": ["dull", "awful", "poor"]}
        labels = [("positive", "negative")[k % 2] for k in range(200)]
        lines = [
            f"a {rng.choice(words[one])} film with a {rng.choice(words[one])} end, number {k}"
            for k, one in enumerate(labels)
        ]
        return wn.open((lines, labels), name="texts")


def numbers(where: Path) -> wn.artefacts.Source:
    return wn.open("digits", limit=400)


@pytest.mark.parametrize(("make", "epochs"), [(numbers, 6), (pictures, 4), (texts, 4)])
def test_every_planted_error_that_was_flagged_can_be_reached_fixed_and_exported(
    chromium, tmp_path, monkeypatch, make, epochs
):
    right = make(tmp_path)
    planted = np.random.default_rng(2).choice(len(right), len(right) // 20, replace=False)
    labels = np.array(right.labels)
    labels[planted] = (labels[planted] + 1) % len(right.classes)
    source = right.with_labels(labels, "classification", right.classes)
    model = {} if make is texts else {"model": "mlp"}
    issues = wn.check(source, recipe=wn.Recipe(epochs=epochs), out=tmp_path / "run", **model)
    flagged = set(issues.ids[issues.found & (issues.kinds == "label")].tolist())
    errors = [row for row in planted.tolist() if source.ids[row] in flagged][:25]
    assert errors, "check found none of the planted errors"
    with wn.view(tmp_path / "run", source) as viewer:
        shown = Watched(chromium, viewer.url)
        page, most = shown.page, 0
        for row in errors:
            id, truth = str(source.ids[row]), source.classes[int(right.labels[row])]
            hands = Hands(page)
            hands.key("/")
            hands.key("Control+A")
            hands.paste(id)
            settled(
                page,
                ALONE,
                arg=row,
            )
            hands.key("Escape")  # back to the grid
            hands.key("ArrowRight")
            if viewer._server.answers.brief({"row": str(row)})["suggestion"] == truth:
                hands.key("s")
            else:
                hands.key("Enter")
                page.wait_for_selector("#correct")
                hands.pick("#correct", truth)
            page.wait_for_selector(f".badge.mark:has-text('→ {truth}')")
            with page.expect_download() as waiting:
                hands.click("#export-csv")
            line = next(csv.DictReader(Path(waiting.value.path()).read_text().splitlines()))
            assert (line["id"], line["correction"]) == (id, truth)
            most = max(most, hands.count)
        shown.close()
    assert most <= 12
    fixed = read_decisions(tmp_path / "run" / "marks.parquet")
    assert {id: one.correction for id, one in fixed.items()} == {
        str(source.ids[row]): source.classes[int(right.labels[row])] for row in errors
    }
    print(f"{make.__name__}: {len(planted)} planted, {len(errors)} flagged and fixed, at most {most} actions each")
