"""A run made ready to be looked at: its data opened again, and its map laid out and stored.

This is the one file of the room that calls what computes, when it is asked to; everything else reads artefacts.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Source
from ..artefacts.example_map import ExampleMap
from ..core.code_digest import coded
from ..core.errors import InputError, RunInUseError, StoreError, WinnowError
from ..core.files import fingerprint
from ..core.run import Run
from .run_contents import RunContents

__all__ = ["opened_data", "stored_map"]


def opened_data(run: RunContents, data: Any) -> Source:
    """The data of a run: as given, or opened again as its provenance says.

    Parameters
    ----------
    run
        What the run holds.
    data
        A Source or what `wn.open` takes; None to open what the provenance names.
    """
    from ..sources.open import open as open_source

    if isinstance(data, Source):
        return _with_all(run, data)
    origin = run.origin() or {}
    what = data if data is not None else origin.get("builtin") or origin.get("path")
    if what is None:
        raise InputError(
            f"the run in {run.path} was made from data in memory or does not say where they are; give them with "
            "--data DATA (data= in Python)."
        )
    how = dict(origin.get("opening") or {})
    if isinstance(origin.get("labels"), str | list) and "labels" not in how:
        how["labels"] = origin["labels"]
    try:
        return _with_all(run, _first(open_source, what, how, origin))
    except WinnowError as error:
        if data is not None:
            raise
        raise InputError(
            f"the data of the run in {run.path} cannot be opened again ({str(error).rstrip('.')}); give them with "
            "--data DATA (data= in Python)."
        ) from None


def _first(open_source: Any, what: Any, how: dict[str, Any], origin: Any) -> Source:
    """Open by the options of the origin; those that this kind of data does not take are left out."""
    split = {"split": origin["split"]} if isinstance(origin.get("split"), str) else {}
    for options in ({**how, **split}, how, {}):
        try:
            found: Source = open_source(what, **options)
            return found
        except InputError:
            if not options:
                raise
    raise AssertionError


def _with_all(run: RunContents, source: Source) -> Source:
    """The source, if it holds what the run is about."""
    several: list[Any] = [*run.signals[:1], *run.scores[:1], *run.subsets.values()]
    for one in several:
        known = np.isin(one.ids, source.ids)
        if not known.all():
            raise InputError(
                f"the data lack {int((~known).sum())} of the {known.size} examples of the run in {run.path}, such as "
                f"{one.ids[~known][0]!s}."
            )
    return source


def stored_map(run: RunContents, source: Source, method: str) -> ExampleMap:
    """The map of a run, made once and kept in the run as a step; in the order of the source.

    Parameters
    ----------
    run, source
        The run and its data.
    method
        `pca` or `umap`.
    """
    from ..signals.map_layout import map_layout

    name, file = f"map/{method}", f"map/{method}.safetensors"
    key = coded(map_layout, fingerprint(source.ids[source.order].tobytes()))
    opened = Run.existing(run.path)
    found = opened.get(name, ExampleMap, key=key)
    if found is None:
        start = time.perf_counter()
        rows, features = _rows(run, source)
        found = map_layout(source.ids, rows, method, features=features)
        try:
            with opened:
                opened.put(name, found, time.perf_counter() - start, key=key, file=file)
        except (RunInUseError, StoreError, InputError) as error:  # in use, or read-only
            warnings.warn(f"the map is not stored with the run ({str(error).rstrip('.')})", stacklevel=2)
    if np.array_equal(found.ids, source.ids):
        return found
    place = np.argsort(found.ids, kind="stable")[np.searchsorted(np.sort(found.ids), source.ids)]
    return ExampleMap(source.ids, found.points[place], found.rows[place], found.method, found.features, found.explained)


def _rows(run: RunContents, source: Source) -> tuple[NDArray[Any], str]:
    """The features of the map and what they are: embeddings of the run, or the inputs themselves."""
    for file in run.signals:
        if "embeddings" in file.arrays and np.isin(source.ids, file.ids).all():
            rows = file.whole("embeddings").reshape(len(file.ids), -1)
            order = np.argsort(file.ids, kind="stable")
            return rows[order[np.searchsorted(file.ids[order], source.ids)]], "embeddings of the run"
    from ..checking.neighbour_rows import neighbour_rows

    words = {"text": "words of the texts", "table": "columns of the table"}.get(source.kind, "patches of the images")
    return neighbour_rows(source), f"{words}, without a network"
