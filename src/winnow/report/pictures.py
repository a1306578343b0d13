"""Choose and draw the few examples that a report or page shows."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Scores, Source, Subset
from ..artefacts.gallery import Example, Gallery
from ..artefacts.label_sets import label_words
from ..core import checks
from ..core.seeds import stream

__all__ = ["LARGEST_SIDE", "MOST_COLUMNS", "cell_text", "make_gallery", "make_pictures", "picture"]


LARGEST_SIDE = 96


MOST_COLUMNS = 12


MOST_LETTERS = 400  # of a text


def make_gallery(source: Source, scores: Scores | None, subset: Subset, count: int = 12) -> Gallery:
    """Choose and draw the examples of a report.

    Parameters
    ----------
    source
        The data the subset was chosen from.
    scores
        The score that defines "easiest" and "hardest"; without it those sections are left out.
    subset
        The kept examples.
    count
        The most examples per section.
    """
    checks.integer("count", "gallery", count, low=1)
    kept = np.zeros(len(source), dtype=bool)
    kept[subset.indices(source)] = True
    chosen = _chosen(source, scores, kept, count)
    shown = np.unique(np.concatenate(list(chosen.values())))
    values = {} if scores is None else dict(zip(*_as_lists(scores, shown), strict=True))
    drawn = _drawn(source, shown, kept, values)
    sections = {name: tuple(drawn[key] for key in ids.tolist()) for name, ids in chosen.items() if ids.size}
    return Gallery(
        source=source.name,
        kind=source.kind,
        score=None if scores is None else scores.name,
        sections=sections,
        **_column_names(source),
        counts=_counts(source, kept),
    )


def make_pictures(source: Source, ids: Sequence[Any], subset: Subset | None = None) -> Gallery:
    """Draw given examples: a gallery of one section, `shown`.

    Parameters
    ----------
    source
        The data.
    ids
        Ids of the examples to draw, each once.
    subset
        The kept examples; all if not given.
    """
    kept = np.full(len(source), subset is None)
    if subset is not None:
        kept[subset.indices(source)] = True
    shown = np.asarray(ids, dtype=source.ids.dtype)
    drawn = _drawn(source, shown, kept, {}) if shown.size else {}
    return Gallery(source.name, source.kind, None, {"shown": tuple(drawn.values())}, **_column_names(source))


def _drawn(
    source: Source, shown: NDArray[Any], kept: NDArray[np.bool_], values: Mapping[Any, float]
) -> dict[Any, Example]:
    """The drawn examples, by id."""
    items = _items(source, shown)
    named = zip(shown.tolist(), source.positions(shown).tolist(), items, strict=True)
    return {
        name: Example(
            id=str(name),
            label=_label(source, position),
            score=values.get(name),
            kept=bool(kept[position]),
            **_drawing(source, item),
        )
        for name, position, item in named
    }


def _items(source: Source, shown: NDArray[Any]) -> Sequence[Any]:
    """What is drawn of each example: a text, the raw cells of a row, or the input."""
    if source.kind == "text":
        return source.texts(shown)
    if source.raw is None:
        return source.fetch(shown)  # type: ignore[return-value]
    cells = source.raw.cells(source.positions(shown))
    return list(zip(*(column.tolist() for column in list(cells.values())[:MOST_COLUMNS]), strict=True))


def _chosen(source: Source, scores: Scores | None, kept: NDArray[np.bool_], count: int) -> dict[str, NDArray[Any]]:
    """The ids of each section."""
    chosen: dict[str, NDArray[Any]] = {}
    if scores is not None:
        by_id = np.argsort(scores.ids, kind="stable")
        by_score = by_id[np.argsort(scores.values[by_id], kind="stable")]
        chosen["easiest"] = scores.ids[by_score[:count]]
        chosen["hardest"] = scores.ids[by_score[::-1][:count]]
    for name, wanted in (("kept", True), ("dropped", False)):
        pool = source.order[kept[source.order] == wanted]
        chosen[name] = source.ids[_sample(source, pool, count, name)]
    return chosen


def _sample(source: Source, pool: NDArray[np.int64], count: int, name: str) -> NDArray[np.int64]:
    """A few positions of a canonically ordered pool: classes alternate, each in random order."""
    shuffled = pool[stream(0, "gallery", name).permutation(pool.size)]
    if source.task != "classification" or source.labels is None:
        return _canonical(source, shuffled[:count])
    labels = source.labels[shuffled]
    turn = np.zeros(shuffled.size, dtype=np.int64)
    for number in np.unique(labels):
        of_class = np.flatnonzero(labels == number)
        turn[of_class] = np.arange(of_class.size)
    # Within a turn the order stays shuffled, so that with more classes than places no class is favoured.
    first = _canonical(source, shuffled[np.argsort(turn, kind="stable")[:count]])
    return first[np.argsort(source.labels[first], kind="stable")]


def _canonical(source: Source, positions: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same positions sorted by id."""
    return positions[np.argsort(source.ids[positions], kind="stable")]


def _as_lists(scores: Scores, shown: NDArray[Any]) -> tuple[list[Any], list[float]]:
    known = shown[np.isin(shown, scores.ids)]
    return known.tolist(), scores.take(known).values.tolist() if known.size else []


def _label(source: Source, position: int) -> str | None:
    if source.labels is None:
        return None
    label = source.labels[position]
    if source.task == "multilabel":
        return label_words(label, source.classes)
    if source.task == "classification":
        return source.classes[int(label)]
    return ", ".join(f"{value:.4g}" for value in np.atleast_1d(label).tolist())


def _counts(source: Source, kept: NDArray[np.bool_]) -> tuple[tuple[str, int, int], ...]:
    if not source.classes or source.labels is None:
        return ()
    if source.task == "multilabel":
        sums = (source.labels[kept].sum(axis=0, dtype=np.int64), source.labels.sum(axis=0, dtype=np.int64))
        return tuple(zip(source.classes, *(one.tolist() for one in sums), strict=True))
    total = np.bincount(source.labels, minlength=len(source.classes))
    held = np.bincount(source.labels[kept], minlength=len(source.classes))
    return tuple(zip(source.classes, held.tolist(), total.tolist(), strict=True))


def _column_names(source: Source) -> dict[str, Any]:
    """The columns of a table to show, and how many are hidden."""
    if source.raw is not None:
        given = source.raw.names
        return {"columns": given[:MOST_COLUMNS], "hidden_columns": max(0, len(given) - MOST_COLUMNS)}
    width = int(np.prod(source.shape)) if source.kind == "table" else 0
    names = source.columns if len(source.columns) == width else [str(number) for number in range(width)]
    return {"columns": tuple(names[:MOST_COLUMNS]), "hidden_columns": max(0, width - MOST_COLUMNS)}


def _drawing(source: Source, item: Any) -> dict[str, Any]:
    if source.kind == "text":
        return {"text": item if len(item) <= MOST_LETTERS else f"{item[:MOST_LETTERS].rstrip()} ..."}
    if source.kind == "image":
        return _picture(item)
    if source.raw is not None:
        return {"row": tuple(cell_text(value) for value in item)}
    if source.kind == "table":
        values = item.reshape(-1)[:MOST_COLUMNS].tolist()
        return {"row": tuple(_number(value) for value in values)}
    return {"facts": _facts(item)}


def cell_text(value: Any) -> str:
    """A raw cell as text."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _number(value)
    if isinstance(value, np.ndarray | list):
        return f"{len(value)} numbers"
    if value is None or str(value) in ("NaT", "<NA>"):
        return "missing"
    return str(value)[:MOST_LETTERS].removesuffix(" 00:00:00")


def _number(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "missing"


def _facts(item: NDArray[Any]) -> dict[str, str]:
    flat = np.asarray(item, dtype=np.float64).reshape(-1)
    low, high = _number(float(flat.min())), _number(float(flat.max()))
    return {
        "shape": " x ".join(map(str, item.shape)),
        "mean": _number(float(flat.mean())),
        "sd": _number(float(flat.std())),
        "range": f"{low} to {high}",
    }


def _picture(item: NDArray[Any]) -> dict[str, Any]:
    """A C x H x W image as PNG: unchanged if tiny, smaller and with fewer colours if large."""
    from PIL import Image

    image = picture(item, LARGEST_SIDE)
    if image.mode == "RGB" and max(image.size) > LARGEST_SIDE // 2:
        image = image.quantize(colors=256, method=Image.Quantize.MEDIANCUT)  # a third of the bytes
    target = io.BytesIO()
    image.save(target, format="PNG", optimize=True)
    return {"png": base64.b64encode(target.getvalue()).decode(), "width": image.width, "height": image.height}


def picture(item: NDArray[Any], side: int) -> Any:
    """A C x H x W array of bytes as an image of at most `side` pixels, for PIL."""
    from PIL import Image

    channels = item.shape[0]
    if channels == 3:
        image = Image.fromarray(np.ascontiguousarray(item.transpose(1, 2, 0)))
    elif channels == 4:
        clear = Image.fromarray(np.ascontiguousarray(item.transpose(1, 2, 0)))
        image = Image.new("RGB", clear.size, "white")
        image.paste(clear, mask=clear.getchannel("A"))
    else:  # grey, or channels that are not colours: the first one
        image = Image.fromarray(np.ascontiguousarray(item[0]))
    image.thumbnail((side, side), Image.Resampling.LANCZOS)
    return image
