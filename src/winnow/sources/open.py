"""`wn.open`: open data of any kind. It recognises what it was given and calls the adapter for it (`adapter_choice`)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from numpy.typing import ArrayLike

from ..artefacts.source import Source
from ..artefacts.task_labels import TASKS, Task
from ..core import checks
from ..core.errors import InputError
from ..core.parameter_names import of
from ..core.request import Parameter, flag
from .adapter_choice import opened
from .assembly import OpenRequest
from .encoded_items import Encode, encoded_source, open_items, takes_a_batch
from .file_encoding import ORIGIN
from .holdout import sample
from .own_adapters import apart

__all__ = ["open"]


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
        Parameter("Column to use, if not all; may be given several times.", kind=list[str] | None),
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
        Parameter(
            "Column that names the group of an example, such as a patient; groups are never split.", kind=str | None
        ),
    ] = None,
    time: Annotated[
        str | ArrayLike | None,
        Parameter("Column with the time of each example; the latest part is held out.", kind=str | None),
    ] = None,
    encoding: Annotated[
        str | None, Parameter("Encoding of text files, such as latin-1; UTF-8 if not given.", kind=str | None)
    ] = None,
    unreadable: Annotated[
        Literal["refuse", "skip"], Parameter("What to do with unreadable files: refuse or skip.", kind=str)
    ] = "refuse",
    trust_names: Annotated[
        bool, flag("Identify the data by ids and file names, without reading all of it to notice changes.")
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
        A built-in name (digits, mnist, fashion-mnist, cifar10, sst2), the path or URL of a file or folder, `(X, y)` or
        `X` as arrays, lists of strings or frames, a torch dataset, an HF dataset, a pandas, polars or arrow table, or a
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
        Height and width to which images are resized, at most 4096.
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
    encoding
        The encoding of CSV, TSV and JSONL files and of folders of text files, such as "latin-1", "cp1252" or "utf-16".
        If not given they must be UTF-8.
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
        columns=_named(columns),
        drop=_named(drop),
        text=_named(text),
        group=group,
        time=time,
        encoding=encoding,
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
    source = opened(what, asked)
    if like is not None:
        source = source.as_in(like)
    if encoding is not None and ORIGIN not in source.origin:
        raise InputError(
            f"{of('encoding', 'wn.open')} is for CSV, TSV and JSONL files and folders of text files; source "
            f"{source.name!r} is none; leave it out."
        )
    if text and source.kind != "text":
        raise InputError(
            f"{of('text', 'wn.open')} names a column of a table; source {source.name!r} holds a {source.kind}."
        )
    return _limited(source, limit)


def _encoded(what: Any, asked: OpenRequest, encode: Encode) -> Source:
    """The vectors that a function makes of items in a list, or of any data that can be opened."""
    if not takes_a_batch(encode):
        raise InputError(f"{of('encode', 'wn.open')} must be a function from a batch to vectors; got {encode!r:.80}.")
    inputs, target = apart(what)
    if isinstance(inputs, list):
        return open_items(inputs, target, asked, encode)
    return encoded_source(opened(what, asked), encode)


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


def _named(given: Any) -> Any:
    """Names as given; None for an empty list, which the command line makes of an option that is not there."""
    return None if isinstance(given, str | list | tuple) and not given else given
