"""The serialiser: what is saved comes back, what is something else is refused in one sentence."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from winnow.core.errors import InputError, StoreError
from winnow.core.files import plain
from winnow.core.layouts import Folder, Json, Parquet, Tensors
from winnow.core.serialiser import Saved


@dataclass(frozen=True)
class Leaf:
    name: str
    value: float
    near: Leaf | None = None


@dataclass(frozen=True)
class Tree(Saved, kind="tree", layout=Json()):
    root: Leaf
    leaves: tuple[Leaf, ...]
    groups: Mapping[str, tuple[Leaf, ...]]
    counts: tuple[tuple[str, int], ...] = ()
    span: tuple[float, float] | None = None
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Columns(Saved, kind="columns", layout=Parquet({"id": "ids", "row": "matrix", "p*": "spread"})):
    ids: NDArray[Any]
    spread: NDArray[Any]
    matrix: NDArray[Any] | None = None
    note: str = ""

    def __post_init__(self) -> None:
        if not len(self.ids):
            raise InputError("ids of columns must not be empty.")


@dataclass(frozen=True, eq=False)
class Blocks(Saved, kind="blocks", layout=Parquet({"id": "ids", "row": "matrix"}, block=3)):
    ids: NDArray[Any]
    matrix: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Bundle(Saved, kind="bundle", layout=Tensors(arrays=("labels",), ids="ids", group="arrays")):
    ids: NDArray[Any]
    arrays: Mapping[str, NDArray[Any]]
    labels: NDArray[Any] | None = None
    scale: float = 1.0


@dataclass(frozen=True, eq=False)
class Cube(Saved, kind="cube", layout=Tensors(arrays=("values",))):
    values: NDArray[Any]


@dataclass(frozen=True)
class Wood(Saved, kind="wood", layout=Folder("wood.json", tables={"leaves": "leaves.parquet"})):
    leaves: tuple[Leaf, ...]
    place: str = ""


@dataclass(frozen=True)
class Land(Saved, kind="land", layout=Folder("land.json", parts="woods", order="names", derived=("size",))):
    woods: Mapping[str, Wood]

    def size(self) -> int:
        return len(self.woods)


LEAF = Leaf("a", 0.5)
TREE = Tree(LEAF, (LEAF, Leaf("b", 1.0, LEAF)), {"x": (LEAF,), "none": ()}, (("a", 1),), (0.0, 1.0), {"k": [1, None]})
COLUMNS = Columns(np.array(["é", "b"]), np.arange(4.0).reshape(2, 2), np.ones((2, 3)), "n")
BUNDLE = Bundle(np.array(["é", "b"]), {"x": np.ones((2, 2), np.float32)}, np.array([1, 0]), 0.25)
WOOD = Wood((LEAF, Leaf("b", 1.0)), "hill")
LAND = Land({"Zwei & Eins": WOOD, "a": WOOD})
ALL = [TREE, COLUMNS, BUNDLE, WOOD, LAND]
NAMES = [made.saved_as for made in ALL]


def content(path: Path) -> dict[str, bytes]:
    files = [path] if path.is_file() else sorted(item for item in path.rglob("*") if item.is_file())
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


@pytest.mark.parametrize("made", ALL, ids=NAMES)
def test_what_is_loaded_is_what_was_saved_and_gives_the_same_bytes(made: Saved, tmp_path: Path) -> None:
    again = type(made).load(made.save(tmp_path / "one"))
    again.save(tmp_path / "two")
    assert content(tmp_path / "one") == content(tmp_path / "two")
    assert again.entries() == made.entries()
    assert not list(tmp_path.rglob(".*"))


def test_nested_values_are_rebuilt_from_the_type_hints(tmp_path: Path) -> None:
    assert Tree.load(TREE.save(tmp_path / "tree.json")) == TREE
    assert Wood.load(WOOD.save(tmp_path / "wood")) == WOOD
    land = Land.load(LAND.save(tmp_path / "land"))
    assert list(land.woods) == ["Zwei & Eins", "a"]
    assert json.loads((tmp_path / "land" / "land.json").read_text())["size"] == 2


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_no_number_is_null_in_the_file_and_nan_when_read(value: float, tmp_path: Path) -> None:
    path = Tree(Leaf("a", value), (), {}, span=None).save(tmp_path / "tree.json")
    about = json.loads(path.read_text(), parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert about["root"]["value"] is None
    found = Tree.load(path)
    assert math.isnan(found.root.value)
    assert found.span is None
    assert found.root.near is None


@pytest.mark.parametrize("ids", [np.array([3, 1, 2]), np.array(["c", "longer", "é"])], ids=["numbers", "text"])
def test_arrays_keep_their_kind_and_absent_ones_stay_absent(ids: NDArray[Any], tmp_path: Path) -> None:
    columns = Columns.load(Columns(ids, np.ones((3, 2), np.float32)).save(tmp_path / "c"))
    bundle = Bundle.load(Bundle(ids, {"x": np.arange(6, dtype=np.int16).reshape(3, 2)[:, ::-1]}).save(tmp_path / "b"))
    blocks = Blocks.load(Blocks(np.arange(7), np.arange(14, dtype=np.float32).reshape(7, 2)).save(tmp_path / "k"))
    assert columns.ids.tolist() == bundle.ids.tolist() == ids.tolist()
    assert columns.ids.dtype.kind == bundle.ids.dtype.kind == ids.dtype.kind
    assert columns.matrix is None
    assert bundle.labels is None
    assert columns.spread.dtype == np.float32
    assert bundle.arrays["x"].tolist() == [[1, 0], [3, 2], [5, 4]]
    assert bundle.arrays["x"].dtype == np.int16
    assert blocks.matrix.tolist() == np.arange(14).reshape(7, 2).tolist()


def test_a_table_without_rows_comes_back(tmp_path: Path) -> None:
    assert Wood.load(Wood(()).save(tmp_path / "wood")) == Wood(())


OTHERS = {"tree": WOOD, "columns": Blocks(np.arange(2), np.ones((2, 2))), "wood": LAND, "land": WOOD}
OTHERS["bundle"] = Cube(np.ones(3))


@pytest.mark.parametrize("made", ALL, ids=NAMES)
@pytest.mark.parametrize("trouble", ["missing", "junk", "another kind"])
def test_every_refusal_is_the_same_sentence(made: Saved, trouble: str, tmp_path: Path) -> None:
    path, other = tmp_path / "given", OTHERS[made.saved_as]
    if trouble != "missing":
        file = made.layout.place(made.save(path))
        there = other.layout.place(other.save(tmp_path / "other"))
        file.write_bytes(b"not ours at all" if trouble == "junk" else there.read_bytes())
    found = {"missing": "no such file", "junk": r"something else \([^\n]+\)", "another kind": f"'{other.saved_as}'"}
    with pytest.raises(StoreError) as caught:
        type(made).load(path)
    sentence = rf"expected '{made.saved_as}' in {made.layout.place(path)}; found {found[trouble]}\."
    assert re.fullmatch(sentence, str(caught.value))


def entries(**changed: Any) -> str:
    about = {**TREE.entries(), **changed}
    return json.dumps({name: value for name, value in about.items() if value != "gone"})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (entries(winnow="wood"), "found 'wood'."),
        (entries(winnow="gone"), "found nothing that says what it is."),
        (entries(new=1), "found an entry 'new' that this winnow does not know."),
        (entries(root="gone"), "found no entry 'root'."),
        (entries(about="gone"), "found no entry 'about'."),
        (entries(root={"name": "a"}), "found no entry 'value'."),
        (entries(root=[]), "found a list where a mapping belongs."),
        (entries(leaves="ab"), "found a str where a list belongs."),
        (entries(groups=[]), "found a list where a mapping belongs."),
        (entries(span=[1.0]), "found something else ("),
        ("[]", "found a list where a mapping belongs."),
    ],
)
def test_entries_that_do_not_fit_are_named(text: str, found: str, tmp_path: Path) -> None:
    (tmp_path / "tree.json").write_text(text)
    with pytest.raises(StoreError, match=re.escape(found)):
        Tree.load(tmp_path / "tree.json")


def test_an_entry_may_be_missing_where_none_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "tree.json").write_text(entries(span="gone"))
    assert Tree.load(tmp_path / "tree.json").span is None


def test_what_the_class_refuses_names_the_file(tmp_path: Path) -> None:
    COLUMNS.save(tmp_path / "c.parquet")
    import pyarrow.parquet as pq

    pq.write_table(pq.read_table(tmp_path / "c.parquet").slice(0, 0), tmp_path / "c.parquet")
    with pytest.raises(StoreError, match=r"in .*c\.parquet; found something else \(ids of columns must not be empty\)"):
        Columns.load(tmp_path / "c.parquet")


def test_a_table_of_another_kind_in_the_folder_is_refused(tmp_path: Path) -> None:
    WOOD.save(tmp_path)
    COLUMNS.save(tmp_path / "leaves.parquet")
    with pytest.raises(StoreError, match=r"expected 'leaves' in .*leaves\.parquet; found 'columns'"):
        Wood.load(tmp_path)


def test_a_folder_is_not_written_over_a_file(tmp_path: Path) -> None:
    (tmp_path / "wood").write_text("mine")
    with pytest.raises(StoreError, match=r"cannot write .*leaves\.parquet: File exists"):
        WOOD.save(tmp_path / "wood")
    assert (tmp_path / "wood").read_text() == "mine"


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    path = COLUMNS.save(tmp_path / "c.parquet")
    before = path.read_bytes()
    with pytest.raises(ValueError, match="length"):
        Columns(np.arange(3), np.ones((2, 2))).save(path)
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["c.parquet"]


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (math.nan, None),
        (-math.inf, None),
        (np.float32("nan"), None),
        (np.float64(0.5), 0.5),
        (np.int64(3), 3),
        (np.array([[1.0, np.inf]]), [[1.0, None]]),
        ((1, "a", None, True), [1, "a", None, True]),
        ({2, 1}, [1, 2]),
        ({1: {"a": (np.nan,)}}, {"1": {"a": [None]}}),
        (Path("a") / "b", "a/b"),
        (LEAF, {"name": "a", "value": 0.5, "near": None}),
        (Leaf, str(Leaf)),
        (b"x", "b'x'"),
    ],
    ids=str,
)
def test_plain_values(value: Any, found: Any) -> None:
    assert plain(value) == found
    assert type(plain(value)) is type(found)
    json.dumps(plain(value), allow_nan=False)
