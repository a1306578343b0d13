"""Every kind of bad input that `wn.open` refuses: a name, what to do in an empty folder, a piece of the sentence.

`python -m tests.sources.refusals` prints the table with the full sentences.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image
from scipy import sparse
from torch.utils.data import IterableDataset

from winnow.core.errors import WinnowError
from winnow.sources.open import open as wn_open

from .writers import hub_parquet, idx, image_folder, pictures, png, tar

EYE = np.eye(4)
WORDS = pd.DataFrame({"sentence": ["a b", "c", "d"], "title": ["x", "y", "z"], "stars": [1, 2, 3]})
FRAME = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "label": [0, 1, 0, 1]})


class Refusal(NamedTuple):
    """One kind of bad input."""

    name: str
    call: Callable[[Path], Any]
    fragment: str


def _file(name: str, data: bytes, **options: Any) -> Callable[[Path], Any]:
    def call(folder: Path) -> Any:
        (folder / name).write_bytes(data)
        return wn_open(folder / name, **options)

    return call


def _batch(data: bytes) -> Callable[[Path], Any]:
    def call(folder: Path) -> Any:
        (folder / "data_batch_1").write_bytes(data)
        return wn_open(folder)

    return call


def _frame(**columns: Any) -> Callable[[Path], Any]:
    return lambda _: wn_open(FRAME.assign(**columns))


def _npz(options: dict[str, Any], **arrays: Any) -> Callable[[Path], Any]:
    def call(folder: Path) -> Any:
        np.savez(folder / "a.npz", **arrays)
        return wn_open(folder / "a.npz", **options)

    return call


def _parquet(table: dict[str, Any], read: bool = False, **options: Any) -> Callable[[Path], Any]:
    def call(folder: Path) -> Any:
        pq.write_table(pa.table(table), folder / "a.parquet")
        source = wn_open(folder / "a.parquet", **options)
        return source.read(np.arange(len(source))) if read else source

    return call


def _folder(*extra: tuple[str, bytes], read: bool = False, **classes: np.ndarray) -> Callable[[Path], Any]:
    def call(folder: Path) -> Any:
        root = image_folder(folder / "data", classes)
        for name, data in extra:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(data)
        source = wn_open(root)
        return source.read(np.arange(len(source))) if read else source

    return call


def _idx(cut: int | None = None, labels: int = 4) -> Callable[[Path], Any]:
    def call(folder: Path) -> Any:
        images = idx(folder / "train-images-idx3-ubyte", pictures(4, channels=1))
        idx(folder / "train-labels-idx1-ubyte", np.arange(labels) % 2)
        images.write_bytes(images.read_bytes()[:cut])
        return wn_open(folder)

    return call


def _texts(last: bytes, empty: bool = False) -> Callable[[Path], Any]:
    def call(folder: Path) -> Any:
        for number, name in enumerate(("good", "bad")):
            (folder / "data" / name).mkdir(parents=True)
            (folder / "data" / name / "1.txt").write_bytes(last if number else b"some words")
        if empty:
            (folder / "data" / "empty").mkdir()
        return wn_open(folder / "data")

    return call


def _broken_row(folder: Path) -> Any:
    path = hub_parquet(folder / "a.parquet", [png(pictures(1)[0]), b"nonsense"], [0, 1])
    return wn_open(path).read(np.arange(2))


def _deep_png(folder: Path) -> Any:
    for name in ("cat", "dog"):
        (folder / "data" / name).mkdir(parents=True)
        Image.fromarray(np.full((4, 4), 40000, dtype=np.uint16)).save(folder / "data" / name / "a.png")
    return wn_open(folder / "data")


def _npy(values: np.ndarray, **options: Any) -> Callable[[Path], Any]:
    def call(folder: Path) -> Any:
        np.save(folder / "X.npy", values)
        return wn_open(folder / "X.npy", **options)

    return call


def _tar(*shards: dict[str, bytes], **options: Any) -> Callable[[Path], Any]:
    def call(folder: Path) -> Any:
        (folder / "shards").mkdir()
        for number, members in enumerate(shards):
            tar(folder / "shards" / f"{number}.tar", members)
        source = wn_open(folder / "shards", **options)
        return source.read(np.arange(len(source)))

    return call


def _items(*items: dict[str, Any], **options: Any) -> Callable[[Path], Any]:
    class list_of_items:
        def __len__(self) -> int:
            return len(items)

        def __getitem__(self, position: int) -> Any:
            return items[position]

    return lambda _: wn_open(list_of_items(), **options)


class Rows(IterableDataset):
    """A stream of given items."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __iter__(self) -> Any:
        return iter(self.items)


def _used_cache(folder: Path) -> Any:
    (folder / "a.txt").write_text("mine")
    return wn_open(Rows([np.zeros(2), np.ones(2)]), cache=folder)


class _Stream:
    def __iter__(self) -> Any:
        return iter(())


REFUSALS = (
    Refusal("unknown name or path", lambda _: wn_open("mnits"), "(nearest: 'mnist')"),
    Refusal("address on the network", lambda _: wn_open("https://example.org/a.csv"), "winnow downloads nothing"),
    Refusal("empty folder", lambda folder: wn_open(folder), "it is empty"),
    Refusal("unknown ending", _file("a.xyz", b"1"), "has an extension that winnow does not read"),
    Refusal("pickle", _file("a.pkl", b"1"), "is a pickle, which can run code"),
    Refusal("none", lambda _: wn_open(None), "got NoneType"),
    Refusal("dictionary", lambda _: wn_open({"a": 1}), "got dict"),
    Refusal("number", lambda _: wn_open(3), "got int"),
    Refusal("stream", lambda _: wn_open(_Stream()), "got _Stream"),
    Refusal("tuple of three", lambda _: wn_open((EYE, EYE, EYE)), "must be (X, y) if it is a tuple; got 3 items"),
    Refusal("unknown task", lambda _: wn_open(EYE, task="clustering"), "unknown task of wn.open 'clustering'"),
    Refusal("unknown way with unreadable files", lambda _: wn_open(EYE, unreadable="drop"), "known: refuse, skip"),
    Refusal("size below one", lambda _: wn_open(EYE, size=0), "size of wn.open must be a whole number from 1 to 4096"),
    Refusal("size of a table", lambda _: wn_open(EYE, size=8), "size of wn.open is for images only"),
    Refusal("split that is no word", lambda _: wn_open(EYE, split=3), "split of wn.open must be a string; got 3"),
    Refusal("split of arrays", lambda _: wn_open(EYE, split="test"), "it is not divided into splits"),
    Refusal(
        "unknown split of digits",
        lambda _: wn_open("digits", split="dev2"),
        "no split 'dev2'; it has 'test', 'train'",
    ),
    Refusal("columns of arrays", lambda _: wn_open(EYE, columns=["a"]), "columns of wn.open does not apply to arrays"),
    Refusal(
        "repeated columns", lambda _: wn_open(FRAME, columns=["a", "a"]), "columns of wn.open must be different names"
    ),
    Refusal("labels for an open source", lambda _: wn_open(wn_open(EYE), task="regression"), "which is open already"),
    Refusal("empty array", lambda _: wn_open(np.zeros((0, 3))), "X of source 'arrays' must not be empty"),
    Refusal("single value", lambda _: wn_open(np.array(3.0)), "must have one row per example"),
    Refusal("complex array", lambda _: wn_open(EYE * 1j), "must be an array of real numbers; got dtype complex128"),
    Refusal("object array", lambda _: wn_open(np.array([None, "a"])), "got dtype object"),
    Refusal("table of strings", lambda _: wn_open(np.array([["a"], ["b"]])), "must be an array of real numbers"),
    Refusal("strings and numbers", lambda _: wn_open(["a", 3]), "all strings, or all pairs of strings; got int at pos"),
    Refusal("a missing string", lambda _: wn_open(["a", None, "b"]), "got NoneType at position 1"),
    Refusal("a pair among strings", lambda _: wn_open(["a", ("a", "b", "c")]), "got tuple at position 1"),
    Refusal("only empty texts", lambda _: wn_open(["", "  "]), "holds only empty texts"),
    Refusal("size of text", lambda _: wn_open(["a", "b"], size=8), "is a text of shape (1,)"),
    Refusal("columns of strings", lambda _: wn_open(["a"], columns="a"), "does not apply to lists of strings"),
    Refusal("text column of arrays", lambda _: wn_open(EYE, text="a"), "text of wn.open names a column of a table"),
    Refusal("unknown text column", lambda _: wn_open(WORDS, text="sentense"), "(nearest: 'sentence')"),
    Refusal("text column of numbers", lambda _: wn_open(WORDS, text="stars"), "must hold strings to be read as text"),
    Refusal(
        "three text columns", lambda _: wn_open(WORDS, text=["a", "b", "c"]), "one column, or a pair of them; got 3"
    ),
    Refusal("label as text", lambda _: wn_open(WORDS, labels="sentence", text="sentence"), "not be the label column"),
    Refusal("columns and text", lambda _: wn_open(WORDS, text="sentence", columns="stars"), "cannot be given together"),
    Refusal(
        "missing texts",
        lambda _: wn_open(WORDS.assign(sentence=["a", None, "b"]), text="sentence"),
        "column 'sentence' of source 'frame' has 1 missing texts",
    ),
    Refusal("damaged JSONL", _file("a.jsonl", b'{"text": "a"}\n{"text": \n'), "cannot be read as JSON lines"),
    Refusal("text that is not UTF-8", _texts(b"\xff\xfe"), "is not UTF-8"),
    Refusal(
        "empty folder of texts", _texts(b"words", empty=True), "class folder 'empty' of source 'data' holds no text"
    ),
    Refusal("array of dates", lambda _: wn_open(np.array(["2020-01-01"], dtype="M8[D]")), "got dtype datetime64[D]"),
    Refusal("ragged rows", lambda _: wn_open([[1, 2], [3]]), "must be an array with rows of one shape"),
    Refusal("sparse matrix", lambda _: wn_open(sparse.eye(3)), "got a sparse matrix"),
    Refusal("masked values", lambda _: wn_open(np.ma.masked_less(EYE, 0.5)), "has 12 masked values"),
    Refusal(
        "NaN in a table",
        lambda _: wn_open(np.where(EYE > 0, np.nan, 1.0)),
        "column 0 of source 'arrays' has 1 value(s)",
    ),
    Refusal(
        "infinity in a tensor", lambda _: wn_open(np.full((2, 3, 3), np.inf)), "has 18 value(s) that are NaN, infinite"
    ),
    Refusal("too large for float32", lambda _: wn_open(EYE * 1e300), "too large for float32"),
    Refusal("too few labels", lambda _: wn_open((EYE, [0, 1])), "must have 4 entries, one per example; got 2"),
    Refusal(
        "labels with NaN",
        lambda _: wn_open((EYE, [0.0, np.nan, 1, 1])),
        "must not be missing; 1 of 4 are NaN or None",
    ),
    Refusal("labels with None", lambda _: wn_open((EYE, ["a", None, "b", None])), "2 of 4 are NaN or None"),
    Refusal("empty label text", lambda _: wn_open((EYE, ["a", "", "b", ""])), "2 of 4 are empty strings"),
    Refusal("infinite target", lambda _: wn_open((EYE, [0.0, np.inf, 1, 1])), "must be finite; 1 of 4 are infinite"),
    Refusal(
        "labels of mixed types",
        lambda _: wn_open((EYE, np.array(["a", 1, "b", 2], dtype=object))),
        "a mixture of int, str",
    ),
    Refusal("complex labels", lambda _: wn_open((EYE, [1j, 2, 3, 4])), "must be numbers, strings or booleans"),
    Refusal("one class", lambda _: wn_open((EYE, ["x"] * 4)), "must have at least two classes; got one: 'x'"),
    Refusal("a class for each example", lambda _: wn_open((np.eye(30), np.arange(30))), "pass task='regression'"),
    Refusal("one-hot labels", lambda _: wn_open((EYE, EYE.astype(int))), "for one-hot rows pass their argmax"),
    Refusal(
        "text for a regression",
        lambda _: wn_open((EYE, list("abab")), task="regression"),
        "must be numbers for a regression",
    ),
    Refusal(
        "fractions for a classification", lambda _: wn_open((EYE, [0.5, 1, 1, 1]), task="classification"), "got 0.5"
    ),
    Refusal(
        "no labels for a regression",
        lambda _: wn_open(EYE, task="regression"),
        "must be given for a regression",
    ),
    Refusal(
        "class outside classes",
        lambda _: wn_open((EYE, list("abab")), classes=["a", "c"]),
        "those of the training data); got 'b'",
    ),
    Refusal(
        "repeated class names",
        lambda _: wn_open((EYE, list("abab")), classes=["a", "a"]),
        "classes of wn.open must be different",
    ),
    Refusal("labels given twice", lambda _: wn_open((EYE, [0, 1, 0, 1]), labels=[0, 1, 0, 1]), "must be given once"),
    Refusal("label column of arrays", lambda _: wn_open(EYE, labels="y"), "arrays have no columns"),
    Refusal("too few ids", lambda _: wn_open(EYE, ids=[1, 2]), "ids of source 'arrays' must have 4 entries"),
    Refusal("repeated ids", lambda _: wn_open(EYE, ids=[1, 2, 2, 3]), "ids of source 'arrays' must be unique"),
    Refusal("ids that are floats", lambda _: wn_open(EYE, ids=[0.5, 1, 2, 3]), "must be whole numbers or strings"),
    Refusal("id column of arrays", lambda _: wn_open(EYE, ids="name"), "has no columns"),
    Refusal("unknown label column", lambda _: wn_open(FRAME, labels="lable"), "(nearest: 'label')"),
    Refusal("unknown feature column", lambda _: wn_open(FRAME, columns=["b"]), "column in columns of wn.open"),
    Refusal("unknown column to drop", lambda _: wn_open(FRAME, drop="b"), "column in drop of wn.open"),
    Refusal("drop of the label", lambda _: wn_open(FRAME, labels="label", drop="label"), "must not name a column that"),
    Refusal("drop of arrays", lambda _: wn_open(EYE, drop="a"), "drop of wn.open does not apply to arrays"),
    Refusal("column of dictionaries", _frame(b=[{"c": 1}] * 4), "neither numbers, strings, dates nor lists of numbers"),
    Refusal("column of lists of words", _frame(b=[["x"]] * 4), "neither numbers, strings, dates nor lists of numbers"),
    Refusal("lists of different lengths", _frame(b=[[1.0, 2.0], [1.0]] * 2), "lists of one length to be read as vect"),
    Refusal("missing vectors", _frame(b=[[1.0, 2.0], None] * 2), "column 'b' of source 'frame' has 2 missing vectors"),
    Refusal("NaN in vectors", _frame(b=[[1.0, np.nan]] * 4), "column 'b' of source 'frame' has 4"),
    Refusal(
        "NaN in vectors beside strings",
        _frame(b=[np.array([np.inf])] * 4, c=list("xyzx")),
        "4 vectors with NaN or infinite",
    ),
    Refusal("empty vectors", _frame(b=[np.zeros(0)] * 4), "holds empty lists"),
    Refusal("infinite value beside strings", _frame(a=[1, np.inf, 3, 4], b=list("xyzx")), "infinite or too large"),
    Refusal("a model that is no source", lambda _: wn_open(FRAME, like=3), "like of wn.open must be a Source"),
    Refusal(
        "a column that the training data has",
        lambda _: wn_open(FRAME, like=wn_open(FRAME.assign(b=list("xyzx")))),
        "source 'frame' has no column 'b', which the training data has",
    ),
    Refusal(
        "a column of another type than in training",
        lambda _: wn_open(FRAME.assign(b=list("xyzx"), a=list("uvwx")), like=wn_open(FRAME.assign(b=list("xyzx")))),
        "column 'a' of source 'frame' holds",
    ),
    Refusal(
        "missing values that training does not have",
        lambda _: wn_open(FRAME.assign(a=[1.0, None, None, 4.0]), like=wn_open(FRAME)),
        "column 'a' of source 'frame' has 2 value(s) that are missing",
    ),
    Refusal("two label columns", _frame(target=[1, 0, 1, 0]), "2 columns that may be the label ('label', 'target')"),
    Refusal("infinite feature", _frame(a=[1.0, np.inf, 3.0, 4.0]), "column 'a' of source 'frame' has 1 value(s)"),
    Refusal("repeated id column", _frame(id=[1, 1, 2, 3]), "id column 'id' of source 'frame' has 1 repeated value(s)"),
    Refusal("id column of floats", _frame(id=[1.5, 2, 3, 4]), "must hold whole numbers or text"),
    Refusal("mixed column", _frame(b=[1, "a", 2.0, None]), "cannot be turned into columns"),
    Refusal("frame without rows", lambda _: wn_open(FRAME.iloc[:0]), "has no rows"),
    Refusal("frame of labels alone", lambda _: wn_open(FRAME[["label"]]), "has no feature columns"),
    Refusal("CSV without header", _file("a.csv", b"1,2\n3,4\n"), "has no header"),
    Refusal("ragged CSV", _file("a.csv", b"a,b\n1,2\n3\n"), "cannot be read as CSV"),
    Refusal("empty CSV", _file("a.csv", b""), "cannot be read as CSV"),
    Refusal("damaged parquet", _file("a.parquet", b"PAR1 nonsense"), "cannot be read as parquet"),
    Refusal("parquet without rows", _parquet({"a": pa.array([], pa.float64())}), "has no rows"),
    Refusal("NaN in parquet", _parquet({"a": [1.0, np.nan]}, read=True), "column 'a' of source 'a' has 1 value(s)"),
    Refusal(
        "lists of different lengths in parquet",
        _parquet({"a": [[1.0, 2.0], [1.0]]}, read=True),
        "must hold lists of one length",
    ),
    Refusal("unreadable image in parquet", _broken_row, "a.parquet row 1 cannot be read"),
    Refusal("damaged npz", _file("a.npz", b"nonsense"), "cannot be read as npz"),
    Refusal("objects in npz", _npz({}, X=np.array([{}], dtype=object)), "which winnow never unpickles"),
    Refusal("npz without inputs", _npz({}, foo=EYE), "is called X, data, images"),
    Refusal("unknown npz key", _npz({"labels": "yy"}, X=EYE, y=[0, 1, 0, 1]), "(nearest: 'y')"),
    Refusal("pickle called npy", _file("a.npy", pickle.dumps({})), "cannot be read"),
    Refusal("objects in npy", _npy(np.array([{}], dtype=object)), "which winnow never unpickles"),
    Refusal("one number in npy", _npy(np.array(3.0)), "must hold one row per example"),
    Refusal("labels that lie nowhere", _npy(EYE, labels="yy"), "must name an npy file beside"),
    Refusal("encode that is no function", lambda _: wn_open(EYE, encode="clip"), "must be a function from a batch"),
    Refusal("encode that makes one vector", lambda _: wn_open([1, 2], encode=lambda b: np.zeros(3)), "got shape (3,)"),
    Refusal("encode that loses items", lambda _: wn_open([1, 2], encode=lambda b: np.zeros((1, 3))), "here 2 rows"),
    Refusal("encode that gives NaN", lambda _: wn_open([1], encode=lambda b: [[np.nan]]), "must return finite numbers"),
    Refusal("encode of nothing", lambda _: wn_open([], encode=lambda b: b), "must not be empty"),
    Refusal("damaged tar", _file("a.tar", b"nonsense"), "cannot be read as tar"),
    Refusal("tar without inputs", _tar({"1.cls": b"0"}), "has no images, npy or txt files"),
    Refusal("a name twice in a tar", _tar({"1.txt": b"a", "2.txt": b"b"}, {"1.txt": b"c"}), "example named '1'"),
    Refusal("an example without its input", _tar({"1.txt": b"a", "2.cls": b"1"}), "'2' has none"),
    Refusal("labels that a tar does not have", _tar({"1.txt": b"a"}, labels="kind"), "an ending or a key of the JSON"),
    Refusal("pickle in a tar", _tar({"1.npy": pickle.dumps({})}), "1.npy of source 'shards' cannot be read"),
    Refusal("broken JSON in a tar", _tar({"1.txt": b"a", "1.json": b"{"}), "1.json of source 'shards' cannot be read"),
    Refusal("dictionaries without inputs", _items({"a": 1.0, "b": 2.0}), "name it with columns="),
    Refusal("an unknown key", _items({"x": 1.0}, columns="z"), "columns of wn.open must be a key of the dictionaries"),
    Refusal("two keys for inputs", _items({"x": 1.0, "image": 2.0}), "several keys for inputs (x, image)"),
    Refusal("two keys for labels", _items({"x": 1.0, "y": 1, "label": 2}), "several keys for labels (y, label)"),
    Refusal("an item without its key", _items({"x": 1.0, "y": 0}, {"x": 1.0}), "item 1 of source 'list_of_items' must"),
    Refusal("an empty stream", lambda _: wn_open(Rows([])), "source 'Rows' is empty"),
    Refusal("a stream of several shapes", lambda _: wn_open(Rows([np.zeros(2), np.zeros(3)])), "item 1 has (3,)"),
    Refusal("a cache that is not empty", _used_cache, "must be a new or empty directory"),
    Refusal("truncated idx", _idx(cut=40), "is damaged: its header says 120 bytes"),
    Refusal("not idx", _file("train-images-idx3-ubyte", b"nonsense"), "is not an idx file"),
    Refusal("idx labels of another length", _idx(labels=3), "must have 4 entries, one per example; got 3"),
    Refusal("malicious CIFAR batch", _batch(b"cposix\nsystem\n(S'true'\ntR."), "winnow runs no code from data"),
    Refusal("truncated CIFAR batch", _batch(b"\x80\x02}("), "cannot be read as a CIFAR batch"),
    Refusal("one class folder", _folder(cat=pictures(2)), "must have at least two classes; got one: 'cat'"),
    Refusal(
        "empty class folder", _folder(("cow/notes.txt", b"1"), cat=pictures(2), dog=pictures(2)), "class folder 'cow'"
    ),
    Refusal(
        "images beside class folders", _folder(("a.png", b"1"), cat=pictures(2)), "1 images next to its class folders"
    ),
    Refusal(
        "unreadable image",
        _folder(("cat/x.png", b"1"), cat=pictures(2), dog=pictures(2), read=True),
        "image cat/x.png cannot",
    ),
    Refusal("no readable image", _folder(("x.png", b"1"), ("y.png", b"2")), "none of the 2 images"),
    Refusal("images of two sizes", _folder(cat=pictures(2), dog=pictures(2, 9, 9), read=True), "pass size= to resize"),
    Refusal("images of 16 bits", _deep_png, "winnow reads images with 8 bits per channel"),
)


def sentence(refusal: Refusal, folder: Path) -> str:
    """The message a refusal gives."""
    try:
        refusal.call(folder)
    except WinnowError as error:
        return str(error)
    return "(accepted)"


if __name__ == "__main__":
    for item in REFUSALS:
        with tempfile.TemporaryDirectory() as place:
            print(f"| {item.name} | {sentence(item, Path(place)).replace(place, 'DIR')} |")
