"""HF datasets, in memory or saved to disk. The only file that imports `datasets`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.source import Source
from ..core.errors import DataError, InputError, MissingDependencyError, reason
from ..core.progress import track
from . import column_layout, tables
from .assembly import OpenRequest, Pieces, assemble
from .column_values import feature_names, holes, vector_widths
from .encoded_images import encoded_items, image_column
from .images import ImageForm, Name, decode, first_form, readable, said
from .memory import Remembered
from .parquet import open_parquet
from .raw_table import raw_pieces
from .splits import choose, split_named, without_splits
from .stream_cache import cache_directory, to_parquet
from .texts import text_pieces

__all__ = ["arrow_rows", "is_saved", "load_saved", "open_hf", "open_saved", "rows_at", "save_rows"]

BLOCK = 1024  # rows read at a time in a full pass


def is_saved(path: Path) -> bool:
    """Whether a folder was written by `save_to_disk`."""
    return (path / "dataset_dict.json").is_file() or (path / "state.json").is_file()


def open_saved(path: Path, asked: OpenRequest) -> Source:
    """Make a Source over a folder written by `save_to_disk`."""
    found = open_hf(load_saved(path), replace(asked, name=asked.named(path)))
    return replace(found, origin={**found.origin, "path": str(path)})


def load_saved(path: Path) -> Any:
    """Load a folder written by `save_to_disk`, as a Dataset or DatasetDict."""
    try:
        import datasets
    except ImportError:
        raise MissingDependencyError.of("datasets", "hf", f"reading {path}") from None
    try:
        return datasets.load_from_disk(str(path))
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{path} cannot be read as a saved data set: {reason(error)}.") from None


def open_hf(dataset: Any, asked: OpenRequest) -> Source:
    """Make a Source over a Dataset, or over one split of a DatasetDict."""
    import datasets

    if isinstance(dataset, (datasets.IterableDataset, datasets.IterableDatasetDict)):
        return _open_stream(datasets, dataset, asked)
    name = asked.named(None, "dataset")
    owner = f"source {name!r}"
    dataset, split = _part(dataset, asked, owner)
    if len(dataset) == 0:
        raise DataError(f"{owner} has no rows.")
    return _open(datasets, dataset, asked, name, split)


def _part(dataset: Any, asked: OpenRequest, owner: str) -> tuple[Any, str | None]:
    """Return the split to open and its name; the data set itself if it has no splits."""
    if not isinstance(dataset, dict):
        without_splits(asked.split, owner)
        return dataset, None
    known = {split_named(key) or key: key for key in dataset} | {key: key for key in dataset}
    split = choose(known, asked.split, owner)
    return dataset[known[split]], split


def _open_stream(datasets: Any, dataset: Any, asked: OpenRequest) -> Source:
    """Make a Source over a streaming data set, read once to a parquet file."""
    name = asked.named(None, "stream")
    owner = f"source {name!r}"
    dataset, split = _part(dataset, asked, owner)
    file = to_parquet(_arrow_batches(datasets, dataset, name), cache_directory(asked.cache), owner)
    source = open_parquet(file, replace(asked, name=name, split=None))
    origin = {**source.origin, "adapter": "hf stream", **({"split": split} if split else {})}
    word = name if split in (None, "train") else f"{name}:{split}"
    return replace(source, name=word, origin=origin, make_ids=source.make_ids)


def _arrow_batches(datasets: Any, dataset: Any, name: str) -> Iterator[Any]:
    """Yield the rows of a streaming data set as arrow tables; images stay encoded."""
    import pyarrow as pa

    schema = None
    if dataset.features is not None:
        for column, feature in dataset.features.items():
            if isinstance(feature, datasets.Image):
                dataset = dataset.cast_column(column, datasets.Image(decode=False))
        schema = dataset.features.arrow_schema
    for batch in track(dataset.iter(batch_size=BLOCK), f"reading {name}"):
        yield pa.table(batch, schema=schema)


def _open(datasets: Any, dataset: Any, asked: OpenRequest, name: str, split: str | None) -> Source:
    owner = f"source {name!r}"
    for column, feature in dataset.features.items():
        if isinstance(feature, datasets.Image):
            dataset = dataset.cast_column(column, datasets.Image(decode=False))
    rows = dataset.with_format("arrow")
    schema = dataset.features.arrow_schema
    picture = image_column(schema, asked, owner)
    layout = column_layout.lay_out(schema, replace(asked, columns=None) if picture else asked, owner)
    layout = _with_class_label(datasets, dataset, layout, asked, owner)
    ids = None
    if layout.identity is not None:
        column = _column(rows, layout.identity)
        tables.unique_ids(column, layout, owner)
        ids = tables.id_values(column)
    feature = dataset.features[layout.label] if layout.label else None
    names = getattr(getattr(feature, "feature", feature), "names", None)  # of classes, or of lists of them
    found: dict[str, Any] = {
        "adapter": "hf",
        "count": len(dataset),
        "class_names": tuple(names or ()),
        "own_ids": ids,
        "ids_from": f"column {layout.identity}",
        "origin": {"labels": layout.targets, **({"split": split} if split else {})},
        **tables.target_pieces(layout, partial(_column, rows), asked, owner),
        **tables.beside(layout, partial(_column, rows)),
    }
    spoken = () if picture else column_layout.text_columns(schema, layout, asked, owner)
    if spoken:
        found["origin"]["text"] = list(spoken)
        cells = Strings(rows.select_columns(list(spoken)), spoken, owner)
        key = (rows._fingerprint, spoken)
        return assemble(asked, name, Pieces(**found, **text_pieces(cells, len(dataset), owner, key)))
    if picture is None and column_layout.must_be_encoded(schema, layout, asked, partial(_holes, dataset, rows)):
        raw_cells = HubCells(rows.select_columns(list(layout.features)))
        return assemble(
            asked,
            name,
            Pieces(**found, **raw_pieces(raw_cells, len(dataset), layout.features, owner, asked.fitted_encoding)),
        )
    if picture is None:
        features = column_layout.numeric(schema, layout, owner)
        chosen = rows.select_columns(list(features))
        widths = vector_widths(schema, features, lambda column: chosen[:1].column(column))
        columns = feature_names(widths, features)
        reader = Numbers(chosen, features, owner, tuple(widths.items()))
        return assemble(asked, name, Pieces(**found, read=reader, shape=(len(columns),), kind="table", columns=columns))
    return _images(rows.select_columns([picture]), picture, found, asked, name)


def _with_class_label(
    datasets: Any, dataset: Any, layout: column_layout.ColumnLayout, asked: OpenRequest, owner: str
) -> column_layout.ColumnLayout:
    """If no column has a usual name, use the only ClassLabel as the label; raise if there are several."""
    if layout.targets is not None or asked.task == "unlabelled":
        return layout
    found = [name for name, feature in dataset.features.items() if isinstance(feature, datasets.ClassLabel)]
    if len(found) > 1:
        raise InputError(
            f"{owner} has {len(found)} columns of class labels ({', '.join(found)}); name one with labels=."
        )
    if not found:
        return layout
    return replace(layout, label=found[0], features=tuple(f for f in layout.features if f != found[0]))


def _images(rows: Any, column: str, found: dict[str, Any], asked: OpenRequest, name: str) -> Source:
    owner = f"source {name!r}"
    probe = Pictures(rows, column, ImageForm("RGB", 1, 1, resize=False))
    reader = replace(probe, form=first_form(probe.named_items(block=8), owner, asked.size))
    source = assemble(
        asked,
        name,
        Pieces(
            **found,
            content=reader.content,
            shape=reader.form.shape,
            kind="image",
            read=Remembered(reader, len(rows), reader.form.shape, (rows._fingerprint, column, reader.form)),
        ),
    )
    if asked.unreadable == "refuse":
        return source
    good, skipped = readable(reader.named_items(), reader.form, len(rows), owner)
    return source if skipped is None else replace(source.at(good), origin={**source.origin, "skipped": skipped})


def _holes(dataset: Any, rows: Any, name: str) -> int:
    """The number of missing values of a column; rows are read only if some are missing in the table behind them."""
    return holes(_column(rows, name)) if dataset.data.column(name).null_count else 0


def _column(rows: Any, name: str) -> Any:
    return rows.select_columns([name])[:].column(name)


@dataclass(frozen=True, eq=False)
class Numbers:
    """Reads rows of numbers."""

    rows: Any
    features: tuple[str, ...]
    owner: str
    widths: tuple[tuple[str, int], ...] = ()  # of columns that hold vectors

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Return the inputs at these positions."""
        return tables.matrix(self.rows[positions.tolist()], self.features, self.owner, dict(self.widths))


@dataclass(frozen=True, eq=False)
class HubCells:
    """Reads raw cells."""

    rows: Any

    def __call__(self, positions: NDArray[np.int64]) -> Any:
        """Return the rows at these positions."""
        return self.rows[positions.tolist()]


@dataclass(frozen=True, eq=False)
class Strings:
    """Reads one string per row, from one or two columns."""

    rows: Any
    columns: tuple[str, ...]
    owner: str

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[np.object_]:
        """Return the strings at these positions."""
        return tables.strings(self.rows[positions.tolist()], self.columns, self.owner)


@dataclass(frozen=True, eq=False)
class Pictures:
    """Reads and decodes a column of images on demand."""

    rows: Any
    column: str
    form: ImageForm

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Return the inputs at these positions."""
        where = positions.tolist()
        out = np.empty((len(where), *self.form.shape), dtype=np.uint8)
        for place, item in enumerate(self._items(where) if where else ()):
            out[place] = decode(item, self.form, partial("row {}".format, where[place]))
        return out

    def _items(self, key: Any) -> list[bytes | Path]:
        return encoded_items(self.rows[key].column(self.column), Path())

    def named_items(self, block: int = BLOCK) -> Iterator[tuple[Name, bytes | Path]]:
        """Yield every image with its name, in order."""
        for start in range(0, len(self.rows), block):
            for row, item in enumerate(self._items(slice(start, start + block)), start):
                yield partial("row {}".format, row), item

    def content(self) -> Iterator[bytes]:
        """Yield the encoded bytes of every image, in order."""
        for name, item in self.named_items():
            try:
                yield item if isinstance(item, bytes) else item.read_bytes()
            except OSError as error:
                raise DataError(f"image {said(name)} cannot be read: {error}.") from None


def rows_at(dataset: Any, split: str | None, where: NDArray[np.int64]) -> Any:
    """Return the rows at these positions of a Dataset, or of the split of a DatasetDict that a Source has opened."""
    if split is not None:
        key = split if split in dataset else next(key for key in dataset if split_named(key) == split)
        dataset = dataset[key]
    return dataset.select(where.tolist())


def arrow_rows(dataset: Any) -> Any:
    """Return a Dataset as an arrow table."""
    return dataset.with_format("arrow")[:]


def save_rows(rows: Any, extra: dict[str, Any], path: Path) -> None:
    """Save a Dataset, or an arrow table, with extra columns, by `save_to_disk`."""
    try:
        import datasets
    except ImportError:
        raise MissingDependencyError.of("datasets", "hf", f"writing {path}") from None
    made = rows if isinstance(rows, datasets.Dataset) else datasets.Dataset(datasets.table.InMemoryTable(rows))
    made = made.remove_columns([name for name in extra if name in made.column_names])
    for name, values in extra.items():
        made = made.add_column(name, values)
    bars = datasets.is_progress_bar_enabled()
    datasets.disable_progress_bars()
    try:
        made.save_to_disk(str(path))
    finally:
        if bars:
            datasets.enable_progress_bars()
