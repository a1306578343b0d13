"""`wn.open`: open data of any kind. It recognises what it was given and calls the adapter for it.

Paths are recognised by their contents, without configuration: each adapter is registered with how it recognises what
it opens, and adapters are asked in the order of their registration. Any package may register more.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from numpy.typing import ArrayLike

from ..artefacts.source import TASKS, Source, Task
from ..core import checks, registry
from ..core.errors import DataError, InputError, NotFoundError
from ..core.parameter_names import of
from ..core.registration import Adapter
from ..core.request import Parameter, flag
from . import builtin, cifar, hf, idx, image_folder, npy, npz, parquet, table_file, text_folder, webdataset
from .arrays import open_arrays
from .assembly import OpenRequest, renamed
from .encoded_items import Encode, encoded_source, open_items, takes_a_batch
from .frames import is_frame, open_frame
from .holdout import sample
from .splits import without_splits
from .stream_cache import is_stream, open_stream
from .texts import are_texts, open_texts
from .torch_dataset import is_map_style, open_torch

__all__ = ["open"]

SIDE_FILE = "winnow.csv"  # weights and soft targets beside the files of an exported folder
_PICKLES = (".pt", ".pth", ".pkl", ".pickle", ".joblib")


def _holds(endings: tuple[str, ...], deep: bool = True) -> Callable[[Path], bool]:
    """Whether a folder holds a file with one of these endings."""

    def found(path: Path) -> bool:
        items = path.rglob("*") if deep else path.iterdir()
        names = (item.name for item in items if not item.name.startswith(".") and item.name != SIDE_FILE)
        return any(name.lower().endswith(endings) for name in names)

    return found


# The order counts for folders: the more special first.
registry.source(name="hf_folder", reads="saved HF data sets", folder=hf.is_saved)(hf.open_saved)
registry.source(name="cifar", reads="CIFAR batches", folder=cifar.cifar_layout)(cifar.open_cifar)
registry.source(name="idx", reads="idx files", endings=("-ubyte", "-ubyte.gz"), folder=idx.idx_files)(idx.open_idx)
registry.source(name="npz", reads="npz", endings=(".npz",))(npz.open_npz)
registry.source(name="npy", reads="npy", endings=(".npy",), folder=npy.has_arrays)(npy.open_npy)
registry.source(name="webdataset", reads="tar shards", endings=webdataset.ENDINGS, folder=_holds(webdataset.ENDINGS))(
    webdataset.open_webdataset
)
registry.source(name="parquet", reads="parquet", endings=parquet.ENDINGS, folder=_holds(parquet.ENDINGS))(
    parquet.open_parquet
)
registry.source(name="image_folder", reads="folders of images", folder=image_folder.has_images)(
    image_folder.open_image_folder
)
registry.source(name="csv", reads="csv and tsv", endings=table_file.CSV, folder=_holds(table_file.CSV, deep=False))(
    table_file.open_csv
)
registry.source(name="jsonl", reads="jsonl", endings=table_file.JSONL, folder=_holds(table_file.JSONL, deep=False))(
    table_file.open_jsonl
)
registry.source(name="text_folder", reads="folders of text files", folder=text_folder.has_texts)(
    text_folder.open_text_folder
)


def _homes(value: Any) -> set[str]:
    """The libraries a value's class comes from, told without importing any."""
    return {kind.__module__.split(".")[0] for kind in type(value).__mro__}


@registry.source(name="hf", reads="HF data sets", value=lambda value: "datasets" in _homes(value))
def _hf(what: Any, asked: OpenRequest) -> Source:
    """A Dataset of HF datasets, or one split of a DatasetDict."""
    return hf.open_hf(_apart(what)[0], asked)


@registry.source(
    name="frame",
    reads="data frames",
    value=lambda value: _homes(value) & {"pandas", "polars", "pyarrow"} and is_frame(value),
)
def _frame(what: Any, asked: OpenRequest) -> Source:
    """A pandas, polars or arrow table, with the labels in a column or beside it."""
    return open_frame(*_apart(what), asked)


@registry.source(name="texts", reads="lists of strings", value=are_texts)
def _texts(what: Any, asked: OpenRequest) -> Source:
    """Strings, or pairs of strings, with the labels beside them."""
    return open_texts(*_apart(what), asked)


@registry.source(
    name="arrays",
    reads="arrays",
    value=lambda value: isinstance(value, list) or any(hasattr(value, a) for a in ("__array__", "detach", "tocsr")),
)
def _arrays(what: Any, asked: OpenRequest) -> Source:
    """Arrays, tensors, sparse matrices or lists, with the labels beside them."""
    return open_arrays(*_apart(what), asked)


@registry.source(name="stream", reads="torch iterable data sets", value=is_stream)
def _stream(what: Any, asked: OpenRequest) -> Source:
    """A torch IterableDataset, read once."""
    return open_stream(_without_targets(what), asked)


@registry.source(
    name="torch",
    reads="torch data sets",
    value=lambda value: (
        not isinstance(value, (dict, set, bytes, str)) and (is_map_style(value) or "torch" in _homes(value))
    ),
)
def _torch(what: Any, asked: OpenRequest) -> Source:
    """A torch map-style dataset: anything with len() and [position]."""
    return open_torch(_without_targets(what), asked)


def _without_targets(what: Any) -> Any:
    """Return a dataset, which holds its targets itself."""
    inputs, target = _apart(what)
    if target is not None:
        raise InputError(f"X of wn.open must be an array or a frame when y is given; got {type(inputs).__name__}.")
    return inputs


def _apart(what: Any) -> tuple[Any, Any]:
    """Inputs and targets of what was given."""
    return what if isinstance(what, tuple) else (what, None)


def open(  # the name is the public promise
    what: Any,
    *,
    labels: Annotated[
        str | Sequence[str] | ArrayLike | None,
        Parameter(
            "Column or key that holds the labels; give it several times for several labels per example.",
            kind=list[str] | None,
            read=lambda names: names[0] if len(names) == 1 else names or None,
        ),
    ] = None,
    task: Annotated[
        Task | None,
        Parameter(f"{', '.join(TASKS[:-1])} or {TASKS[-1]}; guessed from the labels if not given.", kind=str | None),
    ] = None,
    ids: Annotated[
        str | ArrayLike | None, Parameter("Column that holds the ids.", kind=str | None, option="id")
    ] = None,
    split: str | None = None,
    size: Annotated[int | None, Parameter("Resize images to this many pixels per side.", option="image-size")] = None,
    classes: Sequence[str] | None = None,
    columns: Annotated[
        str | Sequence[str] | None,
        Parameter("Column to use, if not all are meant; may be given several times.", kind=list[str] | None),
    ] = None,
    drop: Annotated[
        str | Sequence[str] | None,
        Parameter("Column to leave out; may be given several times.", kind=list[str] | None),
    ] = None,
    text: Annotated[
        str | Sequence[str] | None,
        Parameter("Column that holds the text; give it twice for a pair of texts.", kind=list[str] | None),
    ] = None,
    group: Annotated[
        str | ArrayLike | None,
        Parameter("Column whose equal values belong together, such as a patient; never split.", kind=str | None),
    ] = None,
    time: Annotated[
        str | ArrayLike | None,
        Parameter("Column with the time of each example; the latest part is held out.", kind=str | None),
    ] = None,
    unreadable: Annotated[
        Literal["refuse", "skip"], Parameter("What to do with unreadable files: refuse or skip.", kind=str)
    ] = "refuse",
    trust_names: Annotated[
        bool, flag("Take ids and file names for the content, and do not read all data to notice changes.")
    ] = False,
    limit: Annotated[
        int | None, Parameter("Use only this many examples, drawn at random, in proportion per class.")
    ] = None,
    like: Source | None = None,
    encode: Encode | None = None,
    cache: str | os.PathLike[str] | None = None,
    name: str | None = None,
) -> Source:
    """Open data of any kind as a Source.

    Parameters
    ----------
    what
        A built-in name (digits, mnist, fashion-mnist, cifar10, sst2), the path of a file or folder, `(X, y)` or `X` as
        arrays, lists of strings or frames, a torch dataset, an HF dataset, a pandas, polars or arrow table, or a
        Source, which is returned unchanged. A folder with the name of a built-in data set is opened as `./name`.
    labels
        The column (tables, CSV, parquet, HF) or key (npz) with the targets, or, for arrays and frames, the targets
        themselves. Several columns of true and false, or 0 and 1, are several labels per example (multilabel). If not
        given, the column called label, labels, target, y or class is used.
    task
        How to read the targets; "unlabelled" ignores them. If not given, whole numbers, text and booleans are classes
        and floats are a regression target. A list of names per example, and rows of 0 and 1 (whole numbers or
        booleans, not one-hot), are several labels per example: "multilabel".
    ids
        The column with the examples' ids, or the ids themselves. If not given: a column called id, the paths of
        images, or the content.
    split
        Which part to open if there are several; the training data if not given.
    size
        Height and width to which images are resized.
    classes
        Class names that define the numbering of the labels, so that a test set matches the training set.
    columns
        The feature columns of a table, or the image column, if not all columns are meant.
    drop
        Columns of a table to leave out.
    text
        The column of a table that holds the text, or a pair of columns, whose texts are joined by a separator. If not
        given, a table whose only feature is a column of strings is text.
    group
        The column (tables) or key (npz) whose equal values belong together, such as a patient; or one value per
        example. It is no feature. Held-out parts and folds keep a group on one side.
    time
        The column or key with the time of each example, as a number or a date in ISO 8601, or one value per example. It
        is no feature. What is held out is then the latest part, and folds are blocks of time.
    unreadable
        What to do about images that cannot be decoded: "refuse" raises when one is fetched; "skip" decodes every
        image now and leaves out the broken ones, with a warning and a record in `origin`.
    trust_names
        Whether ids, names and sizes stand for the content. By default winnow reads all data once, so that changed data
        never meet an old result; for data too large to be read, True leaves that out and says so in `origin`.
    limit
        Use only this many examples: a stratified random sample that does not depend on the order of the data.
    like
        A Source to open these data like: with its class numbers, and with the encoding of its strings, dates and
        missing values, which is otherwise fitted to the data themselves.
    encode
        A function from a batch to vectors: it gets a list of the items given, or what the source reads, and returns
        one row of numbers per item. The items of a list may be of any kind.
    cache
        An empty directory for a streaming dataset, which is read once to disk; a temporary one, removed at the end,
        if not given.
    name
        The name used in tables and reports.

    Returns
    -------
    Source
        Its `origin` says which adapter, labels, ids and split were used.

    Raises
    ------
    InputError
        If an option is invalid, or does not apply to this kind of data.
    NotFoundError
        If the file, data set or split does not exist.
    DataError
        If the data cannot be read, or has missing or infinite values.
    UnknownNameError
        If there is no column or key of that name.
    MissingDependencyError
        If the format needs a package that is not installed.

    Examples
    --------
    >>> source = open([[0.0, 1.0], [2.0, 3.0]], labels=["no", "yes"])
    >>> len(source), source.task, source.classes
    (2, 'classification', ('no', 'yes'))
    >>> open((["a fine film", "dull", "a fine cast"], ["good", "bad", "good"]))
    Source('texts': 3 examples, text (3,), 2 classes)
    >>> open(([[0.0], [1.0], [2.0]], [["cat", "dog"], [], ["dog"]]))
    Source('arrays': 3 examples, table (1,), 2 labels)
    """
    asked = OpenRequest(
        labels=labels,
        task=task,
        ids=ids,
        split=split,
        size=size,
        classes=classes,  # type: ignore[arg-type]  # any sequence: OpenRequest makes tuples of words
        columns=columns or None,  # type: ignore[arg-type]
        drop=drop or None,  # type: ignore[arg-type]
        text=text or None,  # type: ignore[arg-type]
        group=group,
        time=time,
        unreadable=unreadable,
        trust_names=trust_names,
        like=_model(like),
        cache=cache,
        name=name,
    )
    if encode is not None:
        return _limited(_encoded(what, asked, encode), limit)
    if like is not None and asked.classes is None and like.classes:
        asked = replace(asked, classes=like.classes)
    source = _opened(what, asked)
    if like is not None:
        source = source.as_in(like)
    if text and source.kind != "text":
        raise InputError(
            f"{of('text', 'wn.open')} names a column of a table; source {source.name!r} holds a {source.kind}."
        )
    return _limited(source, limit)


def _encoded(what: Any, asked: OpenRequest, encode: Encode) -> Source:
    """The vectors that a function makes of items in a list, or of any data that can be opened."""
    if not takes_a_batch(encode):
        raise InputError(f"{of('encode', 'wn.open')} must be a function from a batch to vectors; got {encode!r:.80}.")
    inputs, target = _apart(what)
    if isinstance(inputs, list):
        return open_items(inputs, target, asked, encode)
    return encoded_source(_opened(what, asked), encode)


def _limited(source: Source, limit: int | None) -> Source:
    """Return at most `limit` examples of a source."""
    if limit is None:
        return source
    return sample(source, checks.integer("limit", "wn.open", limit, low=2)).refitted()


def _model(like: Any) -> Source | None:
    """Return the source that data are opened like, or raise."""
    if like is not None and not isinstance(like, Source):
        raise InputError(f"{of('like', 'wn.open')} must be a Source; got {type(like).__name__}.")
    return like


def _opened(what: Any, asked: OpenRequest) -> Source:
    if isinstance(what, Source):
        return _again(what, asked)
    if isinstance(what, str) and what in builtin.NAMES:
        return builtin.open_builtin(what, asked, _open_path)
    if isinstance(what, (str, os.PathLike)):
        return _open_text(what, asked)
    if isinstance(what, tuple) and len(what) != 2:
        raise InputError(f"{of('what', 'wn.open')} must be (X, y) if it is a tuple; got {len(what)} items.")
    return _open_values(what, asked)


def _again(source: Source, asked: OpenRequest) -> Source:
    without_splits(asked.split, f"source {source.name!r}")
    asked.refuse("labels", "task", "ids", "size", "columns", "drop", "text", of="a Source, which is open already")
    return renamed(source, asked)


def _open_values(what: Any, asked: OpenRequest) -> Source:
    """Whatever is in memory, by the first adapter that recognises it."""
    inputs, target = _apart(what)
    for adapter in _adapters():
        if adapter.value is not None and adapter.value(inputs):
            return _by(adapter, what, asked)
    if isinstance(inputs, (dict, set, bytes)) or inputs is None:
        raise InputError(
            f"{of('what', 'wn.open')} must be a name, a path, arrays, a frame or a dataset; "
            f"got {type(inputs).__name__}."
        )
    if target is not None:
        raise InputError(f"X of wn.open must be an array or a frame when y is given; got {type(inputs).__name__}.")
    raise InputError(
        f"{of('what', 'wn.open')} must be a name, a path, arrays, a frame or a dataset with len() and "
        f"[position]; got {type(inputs).__name__}."
    )


def _open_text(what: str | os.PathLike[str], asked: OpenRequest) -> Source:
    """What lies at a path, or what an adapter makes of a text that is none."""
    try:
        return _open_path(_existing(what), asked)
    except NotFoundError:
        for adapter in _adapters():
            if adapter.package != "winnow" and adapter.value is not None and adapter.value(what):
                return _by(adapter, what, asked)
        raise


def _adapters() -> list[Adapter]:
    return registry.listing("source")


def _by(adapter: Adapter, what: Any, asked: OpenRequest) -> Source:
    """A Source by one adapter."""
    source: Source = adapter.function(what, asked)
    return source


def _existing(what: str | os.PathLike[str]) -> Path:
    try:
        path = Path(what).expanduser()
        if path.exists():
            return path
    except (OSError, ValueError, RuntimeError):
        pass  # too long a name, a zero byte, an unknown home: no such file in any case
    if "://" in str(what):
        raise NotFoundError(f"{what} is not on this machine; winnow downloads nothing, so fetch it first.")
    near = difflib.get_close_matches(str(what), builtin.NAMES, n=1, cutoff=0.6)
    hint = f" (nearest: {near[0]!r})" if near else ""
    raise NotFoundError(
        f"there is no file or folder {str(what)!r}, and no built-in data set of that name{hint}; "
        f"built-in: {', '.join(builtin.NAMES)}."
    )


def _open_path(path: Path, asked: OpenRequest) -> Source:
    """Open a path with the adapter that recognises it."""
    if not isinstance(asked.labels, (str, type(None))) and not asked.label_columns:
        raise InputError(
            f"{of('labels', 'wn.open')} must name a column or key of {path}; got {type(asked.labels).__name__}."
        )
    try:
        if path.is_dir():
            return _open_folder(path, asked)
        lower = path.name.lower()
        for adapter in _adapters():
            if adapter.endings and lower.endswith(adapter.endings):
                return _by(adapter, path, asked)
    except PermissionError as error:
        raise DataError(f"{error.filename or path} cannot be read: permission denied.") from None
    if lower.endswith(_PICKLES):
        raise DataError(f"{path} is a pickle, which can run code; winnow loads none, so save the arrays as npz.")
    raise DataError(f"{path} has an extension that winnow does not read; it reads {_reads()}.")


def _open_folder(path: Path, asked: OpenRequest) -> Source:
    for adapter in _adapters():
        if adapter.folder is not None and adapter.folder(path):
            return _by(adapter, path, asked)
    names = sorted(item.name for item in path.iterdir())
    seen = f"it holds {', '.join(names[:4])}{', ...' if len(names) > 4 else ''}" if names else "it is empty"
    raise DataError(f"folder {path} holds nothing winnow reads ({_reads()}); {seen}.")


def _reads() -> str:
    """What lies at a path and can be opened, in words."""
    *most, last = (adapter.reads for adapter in _adapters() if adapter.endings or adapter.folder)
    return f"{', '.join(most)} and {last}"
