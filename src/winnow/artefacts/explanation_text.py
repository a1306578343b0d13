"""Explanations as text for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .finding import FEWEST_JUDGED

if TYPE_CHECKING:
    from .explanation import ClassPair, DatasetExplanation, Explanation, Partner

__all__ = ["MOST_CLASSES", "STRONGEST", "caution", "of_dataset", "of_example", "sampled", "unjudged"]

MOST_CLASSES = 12  # a matrix of more does not fit a terminal
STRONGEST = 20  # class pairs listed instead
LOOSEST = 10  # classes listed instead
LONGEST_NAME = 14
PROJECTED = "The kernel uses projected features: cosines are accurate to about 0.03."


def of_example(about: Explanation) -> str:
    """The explanation of one example."""
    others = about.examples - 1
    lines = [
        f"Example {about.id} of {about.source}, label {about.label}. {about.model}, trained on {about.examples:,} "
        f"examples including this one, predicts {about.predicted}.",
        "",
        f"Learned together with it ({about.interchangeable:,} of {others:,} interchangeable at {about.threshold:g}):",
        *_listed(about.same_way, about.threshold, "interchangeable"),
        "",
        f"Learned against it ({about.contradictory:,} of {others:,} contradictory at -{about.threshold:g}):",
        *_listed(about.against, about.threshold, "contradictory"),
        "",
        f"Self-kernel {about.self_kernel:.4g}: rank {about.self_rank:,} of {about.examples:,}, largest first.",
        _about_label(about),
    ]
    return "\n".join([*lines, *([] if about.exact else [PROJECTED])])


def of_dataset(about: DatasetExplanation) -> str:
    """The explanation of a data set: how its classes relate, and its label issues."""
    lines = [
        f"{about.source}: {about.model}, trained on {about.examples:,} examples of {len(about.classes)} classes. Of "
        f"{about.pairs:,} pairs, {about.interchangeable:,} are interchangeable and {about.contradictory:,} are "
        f"contradictory (at {about.threshold:g}).",
        *sampled(about),
        *caution(about),
        "",
    ]
    lines += _squares(about) if len(about.classes) <= MOST_CLASSES else _strongest(about)
    lines += ["", *_errors(about)]
    return "\n".join([*lines, *([] if about.exact else [PROJECTED])])


def sampled(about: DatasetExplanation) -> list[str]:
    """What was examined, if not everything."""
    said = []
    if about.judged < about.examples:
        said.append(
            f"Label issues and partners were searched among {about.judged:,} of the {about.examples:,} examples, "
            "sampled by class."
        )
    if about.compared < about.judged:
        said.append(f"Pairs were counted among {about.compared:,} examples, sampled by class.")
    return said


def caution(about: DatasetExplanation) -> list[str]:
    """Why the number of classes alone makes contradictory pairs between classes common or rare."""
    many = len(about.classes)
    if many < 2:
        return []
    if many == 2:
        return [
            "With 2 classes this is by construction: the other label flips the sign of a feature, so one input under "
            "both labels has a cosine of -1. Pairs of different classes are contradictory wherever they would be "
            "interchangeable under one label. That alone is no evidence against their labels."
        ]
    return [
        f"With {many} classes, one input under two labels has a cosine of about {(many - 4) / many:.2f}, so pairs of "
        "different classes are rarely contradictory. Use the mean cosine to see which classes are close."
    ]


def _squares(about: DatasetExplanation) -> list[str]:
    found = {(pair.one, pair.other): pair for pair in about.relations}
    found |= {(pair.other, pair.one): pair for pair in about.relations}

    def square(title: str, say: Callable[[ClassPair], str]) -> list[str]:
        rows = [["", *(name[:6].strip() for name in about.classes)]]
        for one in about.classes:
            cells = [say(found[one, other]) if (one, other) in found else "" for other in about.classes]
            rows.append([one[:LONGEST_NAME], *cells])
        return [title, *_columns(rows)]

    lines = square("Mean cosine between classes:", lambda pair: f"{pair.cosine:.2f}" if pair.pairs else "")
    counted: dict[str, Callable[[ClassPair], str]] = {
        "interchangeable": lambda pair: f"{pair.interchangeable:,}",
        "contradictory": lambda pair: f"{pair.contradictory:,}",
    }
    for word, say in counted.items():
        if not getattr(about, word):
            lines += ["", f"No pair is {word}."]
        elif not any(getattr(pair, word) for pair in about.between):
            held = "; ".join(f"{pair.one}: {say(pair)}" for pair in about.within)
            lines += ["", f"{word.capitalize()} pairs, all within a class: {held}."]
        else:
            lines += ["", *square(f"{word.capitalize()} pairs:", say)]
    return lines


def _strongest(about: DatasetExplanation) -> list[str]:
    shown = about.between[:STRONGEST]
    rows = [["classes", "", "pairs", "interchangeable", "contradictory", "mean cosine"]]
    rows += [_pair_row(pair) for pair in shown]
    lines = [f"The {len(shown)} strongest pairs of classes:", *_columns(rows)]
    loose = sorted((pair for pair in about.within if pair.pairs), key=lambda pair: pair.cosine)[:LOOSEST]
    rows = [["class", "pairs", "interchangeable", "contradictory", "mean cosine"]]
    rows += [[pair.one[:LONGEST_NAME], *_pair_row(pair)[2:]] for pair in loose]
    return [*lines, "", f"The {len(loose)} least cohesive classes:", *_columns(rows)]


def _pair_row(pair: ClassPair) -> list[str]:
    counts = [f"{count:,}" for count in (pair.pairs, pair.interchangeable, pair.contradictory)]
    return [pair.one[:LONGEST_NAME], pair.other[:LONGEST_NAME], *counts, f"{pair.cosine:.3f}"]


def _errors(about: DatasetExplanation) -> list[str]:
    if about.wrong is None:
        why = "training learned too little to tell, or recorded no dynamics"
        return [f"Labels were not judged: {why}. winnow check finds label issues."]
    if not about.errors:
        return [f"No label issues: none of {about.judged:,} labels is more likely wrong than right."]
    rows = [["id", "label", "suggested", "by example", "probability"]]
    rows += [[str(one.id), one.label, one.suggested, _called(one.witness), f"{one.score:.3f}"] for one in about.errors]
    more = f"; the {len(about.errors)} most likely" if len(about.errors) < about.wrong else ""
    return [
        f"Label issues ({about.wrong:,} of {about.judged:,} labels look wrong{more}):",
        *_columns(rows),
        "The probability is from one training; winnow check uses several. The class is a hint.",
    ]


def _called(witness: Any) -> str:
    return "none" if witness is None else str(witness)


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of text below a header, in columns: words left-aligned, numbers right-aligned."""
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    right = [all(_numeric(cell) for cell in column[1:]) for column in zip(*rows, strict=True)]
    return [
        "  " + "  ".join(f"{c:>{w}}" if r else f"{c:<{w}}" for c, w, r in zip(row, wide, right, strict=True)).rstrip()
        for row in rows
    ]


def _numeric(cell: str) -> bool:
    return not cell or cell.replace(",", "").replace(".", "").lstrip("-").isdigit()


def _listed(partners: Sequence[Partner], threshold: float, word: str) -> list[str]:
    rows = [["id", "label", "projection", "cosine", ""]]
    for one in partners:
        mark = word if abs(one.projection) >= threshold else ""
        rows.append([str(one.id), one.label, f"{one.projection:.3f}", f"{one.cosine:.3f}", mark])
    return _columns(rows) if partners else ["  none"]


def _about_label(about: Explanation) -> str:
    if about.label_score is None or about.label_bound is None:
        return f"Its label {unjudged(about)}."
    place = f"probability {about.label_score:.3f}, rank {about.label_rank:,} of {about.examples:,}, most likely first"
    if about.looks_wrong:
        by = "" if about.witness is None else f", by example {about.witness}"
        return f"Its label looks wrong ({place}). Suggested class, as a hint: {about.suggested}{by}."
    return f"Its label looks right ({place.replace('probability', 'probability that it is wrong')})."


def unjudged(about: Explanation) -> str:
    """Why a label was not judged."""
    if about.peers is None:
        return "was not judged: there are too many examples to compare all pairs of a class (reduce them with --limit)"
    if about.peers == 0:
        return f"cannot be judged: no other example has label {about.label}"
    if about.peers + 1 >= FEWEST_JUDGED:
        return "was not judged: training learned too little to tell, or recorded no dynamics"
    others = "1 other has" if about.peers == 1 else f"{about.peers} others have"
    return f"cannot be judged: only {others} label {about.label}"
