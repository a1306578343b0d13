"""Text files of other encodings: refused with the option's name, or declared and read right."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import winnow as wn
from winnow.core.errors import DataError, InputError

ROWS = [(f"café {k % 2} über", "chaud" if k % 2 else "glacé") for k in range(8)]
ENCODINGS = ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-8"]


def csv_file(place: Path, encoding: str) -> Path:
    text = "text,label\n" + "".join(f"{text},{label}\n" for text, label in ROWS)
    (place / "rows.csv").write_bytes(text.encode(encoding))
    return place / "rows.csv"


def zipped_tsv(place: Path, encoding: str) -> Path:
    text = "text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in ROWS)
    (place / "rows.tsv.gz").write_bytes(gzip.compress(text.encode(encoding)))
    return place / "rows.tsv.gz"


def jsonl_file(place: Path, encoding: str) -> Path:
    lines = (json.dumps({"text": text, "label": label}, ensure_ascii=False) + "\n" for text, label in ROWS)
    (place / "rows.jsonl").write_bytes("".join(lines).encode(encoding))
    return place / "rows.jsonl"


def text_folder(place: Path, encoding: str) -> Path:
    for number, (text, label) in enumerate(ROWS):
        (place / "texts" / label).mkdir(parents=True, exist_ok=True)
        (place / "texts" / label / f"{number}.txt").write_bytes(text.encode(encoding))
    return place / "texts"


KINDS = [csv_file, zipped_tsv, jsonl_file, text_folder]
Kind = Callable[[Path, str], Path]


def texts_of(path: Path, encoding: str | None = None) -> list[str]:
    source = wn.open(path, encoding=encoding)
    return source.texts(source.ids)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_declared_encoding_is_read_right(kind: Kind, encoding: str, tmp_path: Path) -> None:
    source = wn.open(kind(tmp_path, encoding), encoding=encoding)
    assert sorted(source.texts(source.ids)) == sorted(text for text, _ in ROWS)
    assert source.classes == ("chaud", "glacé")


@pytest.mark.parametrize("encoding", ENCODINGS[:-1])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_is_not_utf8_is_refused_with_the_name_of_the_option(kind: Kind, encoding: str, tmp_path: Path) -> None:
    path = kind(tmp_path, encoding)
    if kind is text_folder and encoding == "utf-16-le":
        pytest.skip("zeros in a text are odd, and UTF-8 all the same")
    with pytest.raises(DataError, match=r"is not UTF-8.*encoding of wn\.open"):
        texts_of(path)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_encoding_is_part_of_the_seal(kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bytes, declared in two ways, are other data; the same text in two encodings is the same."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    places = [tmp_path / "one", tmp_path / "two"]
    for place in places:
        place.mkdir()
    path = kind(places[0], "latin-1")
    first = wn.open(path, encoding="latin-1", name="rows")
    other = wn.open(path, encoding="cp1251", name="rows")
    same = wn.open(kind(places[1], "utf-16"), encoding="utf-16", name="rows")
    assert first.fingerprint != other.fingerprint
    assert first.fingerprint == same.fingerprint
    assert first.origin["file_encoding"] == "iso8859-1"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_bytes_that_do_not_fit_the_declared_encoding(kind: Kind, tmp_path: Path) -> None:
    path = kind(tmp_path, "latin-1")
    with pytest.raises(DataError, match="is not ascii"):
        texts_of(path, "ascii")


@pytest.mark.parametrize("wrong", ["klingon", "hex", "rot13", "", 5, "a\0b"])
def test_an_encoding_that_is_none(wrong: object, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"encoding of wn\.open must be a character encoding"):
        wn.open(csv_file(tmp_path, "utf-8"), encoding=wrong)  # type: ignore[arg-type]


def test_it_is_for_text_files_only() -> None:
    for what in ("digits", [[1.0], [2.0]], ["a", "b"]):
        with pytest.raises(InputError, match=r"encoding of wn\.open is for CSV, TSV and JSONL"):
            wn.open(what, encoding="latin-1")


@pytest.mark.parametrize("kind", KINDS[:3], ids=lambda kind: kind.__name__)
def test_a_subset_is_exported_in_utf8(kind: Kind, tmp_path: Path) -> None:
    path = kind(tmp_path, "cp1252")
    source = wn.open(path, encoding="cp1252")
    out = tmp_path / f"kept{path.name.removeprefix('rows')}"
    subset = wn.Subset(source.ids[:4])
    subset.export(out, path, encoding="cp1252")
    again = wn.open(out)
    assert set(again.texts(again.ids)) <= {text for text, _ in ROWS}
    assert len(again) == 4
