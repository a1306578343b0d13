"""The ground under data and runs: full and read-only disks, odd names, links, FIFOs, headers. One sentence each."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import stat
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import winnow as wn
from winnow.core.errors import DataError, InputError, NotFoundError, StoreError, WinnowError
from winnow.core.run import Run
from winnow.core.unfinished import UNFINISHED, under_way
from winnow.training import Feed, train

LONG = "x" * 300
PATIENCE = 20  # seconds after which something hangs


class Hangs(BaseException):
    """Nothing came back; not an OSError, which winnow would put into words."""


@pytest.fixture(autouse=True)
def _patience() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Hangs

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(PATIENCE)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def said(call: Callable[[], Any], kind: type[WinnowError], fragment: str) -> None:
    with pytest.raises(kind) as found:
        call()
    text = str(found.value)
    assert fragment in text
    assert "\n" not in text


@pytest.fixture(scope="module")
def signals() -> wn.Signals:
    return wn.observe("digits", "mlp", wn.Recipe(epochs=1), limit=40)


def test_a_name_that_is_too_long(tmp_path: Path) -> None:
    said(lambda: Run(tmp_path / LONG, {}).__enter__(), InputError, "cannot be written: File name too long")
    said(lambda: wn.open(f"{LONG}.csv"), NotFoundError, "there is no file or folder")
    said(lambda: wn.Subset([1, 2]).save(tmp_path / f"{LONG}.parquet"), StoreError, "File name too long")
    said(lambda: wn.Subset.load(tmp_path / f"{LONG}.parquet"), StoreError, "too long")
    said(lambda: wn.open("a\0b.csv"), NotFoundError, "there is no file or folder")


def test_links_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").symlink_to(tmp_path / "gone")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    (tmp_path / "run").symlink_to(tmp_path / "gone")
    said(lambda: wn.open(tmp_path / "rows.csv"), NotFoundError, "there is no file or folder")
    said(lambda: wn.open(tmp_path / "loop.csv"), NotFoundError, "there is no file or folder")
    said(lambda: Run(tmp_path / "run", {}).__enter__(), InputError, "is a link to nothing")
    said(lambda: wn.open(photos(tmp_path, lambda file: file.symlink_to("gone"))), DataError, "is a link to nothing")


def photos(root: Path, odd: Callable[[Path], Any]) -> Path:
    for word in "ab":
        (root / "photos" / word).mkdir(parents=True)
        for k in range(2):
            Image.fromarray(np.full((4, 4), 40 * k, dtype=np.uint8)).save(root / "photos" / word / f"{k}.png")
    odd(root / "photos" / "a" / "odd.png")
    return root / "photos"


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "jsonl", "parquet", "npy", "npz", "tar", "png", "txt"])
def test_a_fifo_is_no_data(ending: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / f"rows.{ending}")
    said(lambda: wn.open(tmp_path / f"rows.{ending}"), DataError, "must be a file or a folder; it is a FIFO")


def test_a_fifo_anywhere_else(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    said(lambda: wn.open(photos(tmp_path, os.mkfifo)), DataError, "odd.png is not a file")
    said(lambda: wn.Subset.load(tmp_path / "fifo"), StoreError, "found a FIFO")
    said(lambda: wn.Signals.load(tmp_path / "fifo"), StoreError, "found a FIFO")
    said(lambda: Run(tmp_path / "fifo", {}).__enter__(), InputError, "must be a directory")


def npy(shape: object, descr: str = "<f4", body: bytes = b"", version: tuple[int, int] = (1, 0)) -> bytes:
    text = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode()
    text += b" " * ((64 - (11 + len(text)) % 64) % 64) + b"\n"
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H" if version == (1, 0) else "<I", len(text)) + text + body


HEADERS = {
    "huge": npy((10**12, 10**6)),
    "beyond 64 bits": npy((2**62, 2**62)),
    "negative": npy((-5, 3)),
    "short": npy((10, 3), body=b"12"),
    "objects": npy((3,), "|O"),
    "a half": b"\x93NUMPY\x01\x00\xff\xff{",
    "another version": npy((3,), version=(9, 0)),
    "empty": b"",
    "text for a shape": npy("abc"),
    "code for a type": npy((3,), "__import__('os')"),
    "a header of 2 GB": b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**31 - 1) + b"{",
    "no rows": npy((0, 3)),
    "no axes": npy((), body=b"1234"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_absurd_npy_headers(name: str, tmp_path: Path) -> None:
    (tmp_path / "rows.npy").write_bytes(HEADERS[name])
    with pytest.raises(DataError) as found:
        wn.open(tmp_path / "rows.npy")
    assert "\n" not in str(found.value)


def test_absurd_safetensors_headers(signals: wn.Signals, tmp_path: Path) -> None:
    file = tmp_path / "signals.safetensors"
    signals.save(file)
    good = file.read_bytes()
    size = struct.unpack("<Q", good[:8])[0]
    head, body = json.loads(good[8 : 8 + size]), good[8 + size :]
    one = next(name for name in head if name != "__metadata__")

    def written(header: Any, rest: bytes = body) -> bytes:
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + rest

    about = json.loads(head["__metadata__"]["about"])
    cases = [
        b"",
        good[:20],
        good[:-10],
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 10**6) + b"{}",
        written(b"nope"),
        written([]),
        written(b"[" * 100_000),
        written({name: value for name, value in head.items() if name != "__metadata__"}),
        *(written({**head, one: {**head[one], "shape": shape}}) for shape in ([10**15], [-1], "x", [2**63, 2**63])),
        *(written({**head, one: {**head[one], "data_offsets": at}}) for at in ([5, 1], [0, 10**12], [0], None)),
        written({**head, one: {**head[one], "dtype": "F999"}}),
        *(written({**head, "__metadata__": {"about": text}}) for text in ("{", "[]", "[" * 100_000, "null")),
        *(
            written({**head, "__metadata__": {"about": json.dumps({**about, name: value})}})
            for name in about
            for value in (None, 5, [], "x", {}, [[]], [None], {"a": []})
        ),
    ]
    refused = []
    for content in cases:
        file.write_bytes(content)
        try:
            wn.Signals.load(file)
        except StoreError as error:
            refused.append(str(error))
    assert len(refused) >= len(cases) / 2
    assert not any("\n" in text for text in refused)


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le"])
@pytest.mark.parametrize("where", ["cell", "header"])
def test_a_csv_that_is_not_utf8(encoding: str, where: str, tmp_path: Path) -> None:
    column, cell = ("café", "tea") if where == "header" else ("drink", "café")
    lines = [f"{column},size,label", *(f"{cell}{k % 2},{k},{'xy'[k % 2]}" for k in range(8))]
    (tmp_path / "rows.csv").write_bytes("\n".join(lines).encode(encoding))
    said(lambda: wn.open(tmp_path / "rows.csv"), DataError, "is not UTF-8")


def test_labels_of_other_bytes_are_never_merged(tmp_path: Path) -> None:
    """Two labels that differ only in bytes that are not UTF-8 must not become one class."""
    labels = np.array([b"\xe9", b"\xe8"] * 4)
    said(lambda: wn.open((np.eye(8), labels)), DataError, "not UTF-8")
    lines = b"text,label\n" + b"".join(b"word %d,%s\n" % (k, label) for k, label in enumerate(labels.tolist()))
    (tmp_path / "rows.csv").write_bytes(lines)
    said(lambda: wn.open(tmp_path / "rows.csv"), DataError, "is not UTF-8")
    (tmp_path / "rows.jsonl").write_bytes(b'{"text": "a\xe9", "label": 0}\n{"text": "b", "label": 1}\n')
    said(lambda: wn.open(tmp_path / "rows.jsonl").fetch([0]), DataError, "is not UTF-8")


FULL = """
import resource, signal, sys
import numpy as np
import winnow as wn
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
{}
"""
WRITES = {
    "a run": "wn.observe('digits', 'mlp', wn.Recipe(epochs=12), limit=400, out='run', engine=wn.Local(workers=1))",
    "a subset": "wn.Subset(np.arange(10**5)).save('subset.parquet')",
    "signals": "wn.Signals(np.arange(9999), {'embeddings': np.ones((9999, 4))}, 'unlabelled').save('s.safetensors')",
    "an export": "wn.Subset(wn.open('digits').ids).export('digits.npz', 'digits')",
    "a list": "wn.open('digits'); from winnow.core.files import write_json; write_json('a.json', 'x' * 10**5)",
}


@pytest.mark.parametrize("what", WRITES)
def test_a_full_disk(what: str, tmp_path: Path) -> None:
    """A limit on the size of a file stands for a disk that is full: the same call fails, in the same way."""
    signal.alarm(0)
    script = FULL.format(
        f"try:\n    {WRITES[what]}\nexcept wn.errors.WinnowError as error:\n    print(error)\nelse:\n    print('fits')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "cannot write" in done.stdout
    assert "File too large" in done.stdout
    assert len(done.stdout.splitlines()) == 1
    assert not list(tmp_path.rglob("*.winnow-part"))


@pytest.mark.skipif(os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    signal.alarm(0)
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    for folder in [tmp_path, *tmp_path.parents]:
        if not folder.stat().st_mode & stat.S_IXOTH and os.geteuid() == 0 and folder.owner() == "root":
            folder.chmod(folder.stat().st_mode | stat.S_IXOTH)
    script = (
        "import winnow as wn\nfrom winnow.core.run import Run\n"
        f"for call in (lambda: Run({str(closed / 'run')!r}, {{}}).__enter__(), "
        f"lambda: wn.Subset([1]).save({str(closed / 'a.parquet')!r})):\n"
        "    try: call()\n    except wn.errors.WinnowError as error: print(error)\n"
    )
    nobody = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*nobody, sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.count("Permission denied") == 2, done.stderr[-2000:]


def test_numba_where_nothing_is_writable(tmp_path: Path) -> None:
    """Compiled code is then not kept, and the result is the same."""
    signal.alarm(0)
    script = (
        "import sys\nfrom winnow.core import jit\ndef double(x):\n    return 2 * x\nprint(jit.compiled(double)(21))\n"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "file" / "cache")}
    (tmp_path / "file").write_text("a file where a folder belongs")
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, timeout=120, check=False
    )
    assert done.stdout == "42\n", done.stderr[-2000:]


RECORDS = [
    "",
    "[]",
    "null",
    '"x"',
    "{}",
    '{"check": "x"}',
    '{"key": 1, "file": 2, "seconds": "x", "digests": [], "check": 3}',
    "[" * 100_000,
    "\udcff",
]


@pytest.mark.filterwarnings("ignore:.*made again")
@pytest.mark.parametrize("text", RECORDS, ids=range(len(RECORDS)))
def test_malformed_records_and_what_else_a_run_says(text: str, tmp_path: Path, signals: wn.Signals) -> None:
    with Run(tmp_path / "run", {}) as run:
        run.put("signals", signals, 1.0, file="signals.safetensors")
    record = tmp_path / "run" / "steps" / "signals.json"
    record.write_bytes(text.encode("utf-8", "surrogateescape"))
    with Run(tmp_path / "run", {}) as run:
        assert run.get("signals", wn.Signals) is None
    (tmp_path / "run" / "run.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    said(lambda: Run(tmp_path / "run", {}).__enter__(), StoreError, "run.json")


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff" * 8 + b"{}", struct.pack("<Q", 10**6) + b"{", None])
def test_a_checkpoint_that_is_none(content: bytes | None, tmp_path: Path) -> None:
    """Absurd headers and a FIFO: the training starts at its beginning."""
    file = tmp_path / UNFINISHED / "step" / "0.safetensors"
    file.parent.mkdir(parents=True)
    os.mkfifo(file) if content is None else file.write_bytes(content)
    model = wn.models.build("mlp", classes=10, shape=(1, 8, 8))
    with under_way(tmp_path, "step", "key"):
        assert train(model, Feed(wn.open("digits", limit=60)), wn.Recipe(epochs=1, batch=16), 0).steps == 4


def test_no_room_for_a_checkpoint(tmp_path: Path) -> None:
    (tmp_path / UNFINISHED).write_text("a file where a folder belongs")
    model, recipe = wn.models.build("mlp", classes=10, shape=(1, 8, 8)), wn.Recipe(epochs=2, batch=16, checkpoint=1e-9)
    with under_way(tmp_path, "step", "key"):
        said(lambda: train(model, Feed(wn.open("digits", limit=60)), recipe, 0), StoreError, "cannot write")


def test_files_are_limited_in_this_process_only() -> None:
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] in (-1, resource.RLIM_INFINITY)
