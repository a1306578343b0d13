"""The map of the house, drawn from the real imports.

    python -m tools.import_graph [--tree CHECKOUT] [--out FILE]    # writes docs/images/rooms.svg
    python -m tools.import_graph --check                           # exits 1 if that picture is out of date

Every import counts, at any depth of a file. The rooms stand in a column in the order that `.importlinter` lays down,
the foundations at the top as in the docs; a checkout without that file is ordered by its own imports. An arrow leads
from a room to one that it imports, and its width says how many lines do so, in five steps, so that the picture changes
only when there is something to see. Rooms that at least half of the others import get their arrows on the left, which
keeps the right side readable. An arrow against the order, which only a named exception may be, is dashed.
"""

from __future__ import annotations

import argparse
import configparser
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from .child import ROOT
from .source_tree import Package, read_package

__all__ = ["draw", "room_imports", "room_order"]

PICTURE = Path("docs") / "images" / "rooms.svg"

# Colours of middle brightness: they stand out from white and from black.
COLOURS = ("#3b82c4", "#d9822b", "#2f9e6e", "#b0579b", "#8a8f2a", "#cf5b56", "#7a6fd0", "#2b9eb3")
LEGEND = "#7c8698"
STEPS = ((1, 1.0), (2, 1.7), (5, 2.8), (10, 4.2), (20, 6.0))  # from so many lines on, this width
WIDE, HIGH, PITCH, TOP = 132, 30, 48, 16  # of a box, from one box to the next, and above the first
BULGE, PER_FLOOR = 26, 17  # how far an arrow swings out, and how much more for each room it passes


def room_imports(package: Package) -> Counter[tuple[str, str]]:
    """How many lines of one room import another, for each pair."""
    rooms = {name: module.room for name, module in package.modules.items() if module.room in package.rooms}
    lines = {
        (each.importer, each.line, rooms[each.imported])
        for each in package.imports
        if each.importer in rooms and each.imported in rooms and rooms[each.importer] != rooms[each.imported]
    }
    return Counter((rooms[importer], there) for importer, _, there in lines)


def room_order(tree: Path, package: Package) -> list[str]:
    """The rooms from the foundations up."""
    config = configparser.ConfigParser()
    config.read(tree / ".importlinter", encoding="utf-8")
    section = "importlinter:contract:order"
    floors = config.get(section, "layers").split() if config.has_section(section) else []
    laid_down = [word.strip("()") for word in reversed(floors)]
    known = [room for room in laid_down if room in package.rooms]
    return known + _by_imports(package, [room for room in package.rooms if room not in known])


def _by_imports(package: Package, rooms: list[str]) -> list[str]:
    """Rooms so that each comes after those it imports; of a circle, the one with the fewest open imports first."""
    needs = {room: {there for here, there in room_imports(package) if here == room} for room in rooms}
    order: list[str] = []
    while len(order) < len(rooms):
        left = [room for room in rooms if room not in order]
        order.append(min(left, key=lambda room: (len(needs[room] & set(left)), room)))
    return order


@dataclass(frozen=True)
class Arrow:
    """One arrow of the picture, between rows of the column."""

    here: int
    there: int
    lines: int
    left: bool

    @property
    def against(self) -> bool:
        """Whether it leads away from the foundations."""
        return self.there > self.here

    @property
    def floors(self) -> int:
        """How many rows it passes."""
        return abs(self.here - self.there)

    @property
    def reach(self) -> float:
        """How far it swings out; the curve stays within three quarters of its handles."""
        return BULGE + PER_FLOOR * self.floors

    @property
    def width(self) -> float:
        """How thick it is."""
        return max(width for least, width in STEPS if self.lines >= least)


def draw(tree: Path) -> str:
    """The picture of a checkout, as SVG."""
    package = read_package(tree / "src" / "winnow")
    order = room_order(tree, package)
    counts = room_imports(package)
    users = Counter(there for _, there in counts)
    popular = {room for room in order if users[room] >= (len(order) - 1) / 2}
    arrows = [
        Arrow(order.index(here), order.index(there), lines, there in popular)
        for (here, there), lines in sorted(counts.items())
    ]
    out_left = 0.75 * max((arrow.reach for arrow in arrows if arrow.left), default=0) + 12
    out_right = 0.75 * max((arrow.reach for arrow in arrows if not arrow.left), default=0) + 12
    floor = TOP + PITCH * len(order)
    across, down = max(560, round(out_left + WIDE + out_right)), floor + 66
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across} {down}" width="{across}" '
            f'height="{down}" role="img" font-family="system-ui, sans-serif">',
            "<title>The rooms of winnow and what they import</title>",
            f"<desc>{_told(order, counts)}</desc>",
            *_arrows(arrows, out_left),
            *_boxes(order, arrows, out_left),
            *_legend(floor + 14),
            "</svg>",
            "",
        ]
    )


def _told(order: list[str], counts: Counter[tuple[str, str]]) -> str:
    said = []
    for room in order:
        used = [there for there in order if (room, there) in counts]
        said.append(f"{room} imports {', '.join(used) if used else 'no other room'}.")
    return " ".join(said)


def _middle(row: int) -> float:
    return TOP + PITCH * row + HIGH / 2


def _starts(arrows: list[Arrow]) -> dict[Arrow, float]:
    """Where each arrow leaves its box: spread from the top on, the farthest lowest, so that arrows nest."""
    found: dict[Arrow, float] = {}
    for here, left in {(arrow.here, arrow.left) for arrow in arrows}:
        leaving = sorted((a for a in arrows if (a.here, a.left) == (here, left)), key=lambda a: (a.against, a.floors))
        step = min(4.0, (HIGH - 8) / len(leaving))
        found |= {arrow: _middle(here) - HIGH / 2 + 4 + step * place for place, arrow in enumerate(leaving)}
    return found


def _arrows(arrows: list[Arrow], left_edge: float) -> list[str]:
    drawn = []
    starts = _starts(arrows)
    for arrow in sorted(arrows, key=lambda a: (-a.floors, a.here, a.there)):
        side, edge = _side(arrow.left, left_edge)
        start, end = starts[arrow], _middle(arrow.there) + 7
        far = edge + arrow.reach * side
        curve = f"M{edge:.1f} {start:.1f}C{far:.1f} {start:.1f} {far:.1f} {end:.1f} {edge + 7 * side:.1f} {end:.1f}"
        dashed = ' stroke-dasharray="6 4"' if arrow.against else ""
        drawn.append(
            f'<path d="{curve}" fill="none" stroke="{_colour(arrow.there)}" stroke-width="{arrow.width}" '
            f'stroke-opacity="0.75"{dashed}/>'
        )
    for there, left in sorted({(arrow.there, arrow.left) for arrow in arrows}):
        side, edge = _side(left, left_edge)
        drawn.append(f'<path d="M{edge:.1f} {_middle(there) + 7:.1f}l{10 * side} -6v12z" fill="{_colour(there)}"/>')
    return drawn


def _side(left: bool, left_edge: float) -> tuple[int, float]:
    return (-1, left_edge) if left else (1, left_edge + WIDE)


def _boxes(order: list[str], arrows: list[Arrow], left_edge: float) -> list[str]:
    used = {arrow.there for arrow in arrows}
    drawn = []
    for row, room in enumerate(order):
        top = TOP + PITCH * row
        line = _colour(row) if row in used else LEGEND
        drawn.append(
            f'<rect x="{left_edge:.1f}" y="{top}" width="{WIDE}" height="{HIGH}" rx="6" fill="#f6f8fb" '
            f'stroke="{line}" stroke-width="2"/>'
            f'<text x="{left_edge + WIDE / 2:.1f}" y="{top + HIGH / 2 + 5:.1f}" text-anchor="middle" font-size="15" '
            f'font-weight="600" fill="#1c2430">{room}</text>'
        )
    return drawn


def _colour(row: int) -> str:
    return COLOURS[row % len(COLOURS)]


def _legend(top: int) -> list[str]:
    sentences = (
        "An arrow leads from a room to one that it imports, and has the colour of that one.",
        "Dashed: against the order, a named exception. Width: lines that import.",
    )
    drawn = [_text(12, top + 18 * place, sentence) for place, sentence in enumerate(sentences)]
    bounds = [least for least, _ in STEPS]
    for place, (least, width) in enumerate(STEPS):
        x, y = 12 + 100 * place, top + 18 * len(sentences) + 4
        upper = bounds[place + 1] - 1 if place + 1 < len(bounds) else None
        words = f"{least} or more" if upper is None else str(least) if upper == least else f"{least} to {upper}"
        drawn += [f'<path d="M{x} {y - 4}h28" stroke="{LEGEND}" stroke-width="{width}"/>', _text(x + 36, y, words)]
    return drawn


def _text(x: int, y: int, words: str) -> str:
    return f'<text x="{x}" y="{y}" font-size="13" fill="{LEGEND}">{words}</text>'


def main() -> None:
    """Write the picture, or check it."""
    parser = argparse.ArgumentParser(description="The map of the house, drawn from the real imports.")
    parser.add_argument("--tree", type=Path, default=ROOT, help="root of a checkout; this one if not given")
    parser.add_argument("--out", type=Path, help=f"where to write it; {PICTURE} of the checkout if not given")
    parser.add_argument("--check", action="store_true", help="only say whether the picture is up to date")
    given = parser.parse_args()
    out = given.out or given.tree / PICTURE
    picture = draw(given.tree)
    if given.check:
        if not out.exists() or out.read_text(encoding="utf-8") != picture:
            sys.exit(f"{out} is out of date: run python -m tools.import_graph")
        return
    out.write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
