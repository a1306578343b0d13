"""Draw `images/flow.svg`, the way from data to report, and `images/favicon.svg`.

    python docs/flow.py

One file serves light and dark pages: boxes carry their own background, and lines and words outside them are of a middle
grey that reads on both. `tests/docs/test_reference.py` compares it with what is committed.
"""

from __future__ import annotations

from pathlib import Path

IMAGES = Path(__file__).resolve().parent / "images"
WIDTH, HEIGHT, TOP, TALL, WIDE, GAP = 1000, 222, 62, 84, 136, 76
BLUE, WHEAT, GREY = "#1d5f9c", "#b9770e", "#7b8794"
BOXES = [
    ("Source", "your data, each", "example with an id"),
    ("Signals", "what training", "tells about each"),
    ("Scores", "one per example,", "higher is harder"),
    ("Subset", "ids, weights,", "certificate"),
    ("Study", "retrained: yours,", "random, everything"),
]
STEPS = ["observe", "score", "select", "evaluate"]


def flow() -> str:
    """The drawing as SVG."""
    left = [8 + number * (WIDE + GAP) for number in range(len(BOXES))]
    parts = [_box(x, *words) for x, words in zip(left, BOXES, strict=True)]
    for x, verb in zip(left, STEPS, strict=False):
        parts.append(_arrow(x + WIDE, x + WIDE + GAP, verb))
    parts.append(_shortcut(left[1] + WIDE / 2, left[3] + WIDE / 2, "select, if a method needs more than one number"))
    parts.append(_span(left[0], left[3] + WIDE, 46, "wn.prune"))
    parts.append(_span(left[0], left[4] + WIDE, 18, "winnow prune, with report.html at the end"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'font-family="system-ui, sans-serif">\n'
        "<title>Source, observe, Signals, score, Scores, select, Subset, evaluate, Study</title>\n"
        f'<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0L8 4L0 8z" fill="{GREY}"/></marker></defs>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _words(x: float, y: float, text: str, size: int, colour: str, weight: int = 400) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" font-weight="{weight}" fill="{colour}" '
        f'text-anchor="middle">{text}</text>'
    )


def _box(x: float, name: str, first: str, second: str) -> str:
    middle, below = x + WIDE / 2, TOP + TALL
    return (
        f'<rect x="{x:g}" y="{TOP}" width="{WIDE}" height="{TALL}" rx="9" fill="{BLUE}"/>'
        + _words(middle, TOP + 31, name, 19, "#ffffff", 600)
        + _words(middle, below - 31, first, 12, "#e3eef8")
        + _words(middle, below - 16, second, 12, "#e3eef8")
    )


def _arrow(start: float, end: float, verb: str) -> str:
    y = TOP + TALL / 2
    line = f'<path d="M{start + 4:g} {y:g}H{end - 4:g}" stroke="{GREY}" stroke-width="2" marker-end="url(#tip)"/>'
    return line + _words((start + end) / 2, y - 9, verb, 14, WHEAT, 600)


def _shortcut(start: float, end: float, words: str) -> str:
    top, depth = TOP + TALL + 4, 46
    line = f"M{start:g} {top}v{depth - 12}q0 12 12 12H{end - 12:g}q12 0 12 -12v-{depth - 14}"
    path = f'<path d="{line}" fill="none" stroke="{GREY}" stroke-width="2" marker-end="url(#tip)"/>'
    return path + _words((start + end) / 2, top + depth + 19, words, 13, WHEAT, 600)


def _span(start: float, end: float, y: float, words: str) -> str:
    """A bracket over what one call covers, with its name in the line."""
    half, middle = len(words) * 3.9 + 8, (start + end) / 2
    line = f"M{start:g} {y + 9:g}v-9H{middle - half:g}M{middle + half:g} {y:g}H{end:g}v9"
    return f'<path d="{line}" fill="none" stroke="{GREY}" stroke-width="1.5"/>' + _words(middle, y + 5, words, 14, GREY)


def favicon() -> str:
    """An ear of wheat in the colours of the report."""
    grains = "".join(
        f'<ellipse cx="{16 + side * 5}" cy="{y}" rx="2.6" ry="5" transform="rotate({side * 32} {16 + side * 5} {y})"/>'
        for y in (10, 16, 22)
        for side in (-1, 1)
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" fill="#b7791f">'
        f'<ellipse cx="16" cy="5" rx="2.4" ry="4.6"/>{grains}<rect x="15" y="8" width="2" height="23" rx="1"/></svg>\n'
    )


PICTURES = {"flow.svg": flow, "favicon.svg": favicon}


def main() -> None:
    """Write both pictures."""
    for name, draw in PICTURES.items():
        (IMAGES / name).write_text(draw())


if __name__ == "__main__":
    main()
