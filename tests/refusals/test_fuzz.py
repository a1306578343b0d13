"""Random input at every door, and damaged files of every kind: a WinnowError or a result, never anything else.

`WINNOW_FUZZ` is the number of cases per test; `make long` sets it to 300, which is 5,100 cases in all. The cases are
the same in every run, so that a change is judged by itself and not by luck; `WINNOW_FUZZ_FRESH=1` draws new ones.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import tarfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

import winnow as wn
from winnow.core.errors import WinnowError
from winnow.core.run import Run

CASES = int(os.environ.get("WINNOW_FUZZ", "25"))
PATIENCE = 60  # seconds
fuzzed = settings(
    max_examples=CASES,
    deadline=None,
    database=None,
    derandomize="WINNOW_FUZZ_FRESH" not in os.environ,
    suppress_health_check=list(HealthCheck),
)


class Hangs(BaseException):
    """Nothing came back."""


@contextlib.contextmanager
def refused_or_done() -> Iterator[None]:
    """Let a WinnowError pass, of one line, and nothing else; and no hang."""

    def stop(*_: object) -> None:
        raise Hangs

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(PATIENCE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except WinnowError as error:
        if "\n" in str(error):
            raise AssertionError(f"more than one line: {error}") from error
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def objects(values: list[Any]) -> Any:
    """An array of these objects; of arrays that do not fit together, one axis of them."""
    made = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        made[place] = value
    return made


plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 10**20),
    st.floats(),
    st.text(max_size=6),
    st.binary(max_size=6),
    st.sampled_from(["label", "id", "x", "train", "test", "classification", "unlabelled", "auto", "digits"]),
)
odd = st.recursive(
    plain,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner),
        st.dictionaries(st.text(max_size=3), inner, max_size=3),
        st.lists(inner, max_size=4).map(objects),
    ),
    max_leaves=8,
)
arrays = st.builds(
    lambda shape, kind, seed: (np.random.default_rng(seed).normal(size=shape) * 3).astype(kind),
    st.lists(st.integers(0, 5), max_size=4).map(tuple),
    st.sampled_from(["f4", "f8", "i8", "u1", "?", "c8", "U3", "S3", "f2"]),
    st.integers(0, 9),
)
OPENING = ("labels", "task", "ids", "split", "size", "classes", "columns", "drop", "text", "group", "time", "limit")
options = st.dictionaries(st.sampled_from(OPENING), st.one_of(odd, arrays), max_size=2)


@fuzzed
@given(st.one_of(odd, arrays, st.tuples(arrays, st.one_of(odd, arrays))), options)
def test_open(what: Any, how: dict[str, Any]) -> None:
    with refused_or_done():
        source = wn.open(what, **how)
        if len(source) < 50:
            source.fetch(source.ids)


@pytest.fixture(scope="module")
def signals() -> wn.Signals:
    return wn.observe("digits", "mlp", wn.Recipe(epochs=2), limit=40, want=("dynamics", "embeddings"))


@fuzzed
@given(
    st.one_of(st.sampled_from(["rank", "beta", "strata", "random", "medoids"]), odd),
    st.dictionaries(st.sampled_from(["keep", "size", "seed", "balance", "score", "bins", "a"]), odd, max_size=3),
)
def test_select(signals: wn.Signals, name: Any, how: dict[str, Any]) -> None:
    with refused_or_done():
        wn.select(name, signals, **how)


@fuzzed
@given(
    st.one_of(st.sampled_from(["el2n", "forgetting", "aum", "prototype"]), odd),
    st.dictionaries(st.sampled_from(["epoch", "k", "window", "seed"]), odd, max_size=2),
)
def test_score(signals: wn.Signals, name: Any, how: dict[str, Any]) -> None:
    with refused_or_done():
        wn.score(name, signals, **how)


@fuzzed
@given(odd, odd)
def test_artefacts_made_by_hand(ids: Any, values: Any) -> None:
    for make in (
        lambda: wn.Subset(ids),
        lambda: wn.Subset(ids, values),
        lambda: wn.Signals(ids, {"embeddings": values}, "unlabelled"),
        lambda: wn.relabel.Targets(ids, values),
        lambda: wn.Recipe(epochs=ids, batch=values),
    ):
        with refused_or_done():
            make()


def table() -> pa.Table:
    rng = np.random.default_rng(0)
    return pa.table({"id": [f"r{k}" for k in range(20)], "x": rng.normal(size=20), "label": ["a", "b"] * 10})


def image() -> bytes:
    file = io.BytesIO()
    Image.fromarray(np.arange(25, dtype=np.uint8).reshape(5, 5)).save(file, "png")
    return file.getvalue()


def tar_file(path: Path) -> None:
    with tarfile.open(path, "w") as file:
        for name, content in [("a.png", image()), ("a.cls", b"0"), ("b.png", image()), ("b.cls", b"1")]:
            about = tarfile.TarInfo(name)
            about.size = len(content)
            file.addfile(about, io.BytesIO(content))


def image_table(path: Path) -> None:
    rows = {"image": [{"bytes": image(), "path": None}] * 4, "label": [0, 1, 0, 1]}
    pq.write_table(pa.table(rows), path)


def mixed(path: Path) -> None:
    path.write_text("id,x,when,colour,label\n" + "".join(f"{k},{k}.5,2020-01-0{k},red,{k % 2}\n" for k in range(1, 9)))


DATA: dict[str, Callable[[Path], Any]] = {
    "rows.parquet": lambda path: pq.write_table(table(), path),
    "images.parquet": image_table,
    "rows.csv": mixed,
    "rows.tsv": lambda path: path.write_text("x\tlabel\n" + "".join(f"{k}\t{k % 2}\n" for k in range(9))),
    "rows.jsonl": lambda path: path.write_text(
        "".join(f'{{"text": "word {k}", "label": {k % 2}}}\n' for k in range(9))
    ),
    "rows.npy": lambda path: np.save(path, np.arange(20.0).reshape(10, 2)),
    "rows.npz": lambda path: np.savez(path, x=np.arange(20.0).reshape(10, 2), y=np.arange(10) % 2),
    "rows.tar": tar_file,
}
ARTEFACTS: dict[str, tuple[Callable[[wn.Signals, Path], Any], Any]] = {
    "signals.safetensors": (lambda signals, path: signals.save(path), wn.Signals),
    "scores.parquet": (lambda signals, path: wn.score("el2n", signals).save(path), wn.Scores),
    "subset.parquet": (lambda signals, path: wn.select("rank", signals, keep=0.5, score="el2n").save(path), wn.Subset),
    "targets.parquet": (
        lambda signals, path: wn.relabel.Targets(signals.ids, signals.embeddings + 1).save(path),
        wn.relabel.Targets,
    ),
}
damage = st.lists(
    st.tuples(st.sampled_from(["flip", "cut", "insert", "repeat", "zero"]), st.floats(0, 1), st.binary(max_size=9)),
    min_size=1,
    max_size=4,
)


def damaged(content: bytes, how: list[tuple[str, float, bytes]]) -> bytes:
    """Change a file here and there."""
    for kind, share, added in how:
        at = int(share * max(0, len(content) - 1))
        if kind == "flip" and content:
            content = content[:at] + bytes([content[at] ^ (1 << (len(added) % 8))]) + content[at + 1 :]
        elif kind == "cut":
            content = content[:at]
        elif kind == "insert":
            content = content[:at] + added + content[at:]
        elif kind == "repeat":
            content = content[:at] + content[at : at + 64] + content[at:]
        else:
            content = content[:at] + bytes(len(added)) + content[at + len(added) :]
    return content


@pytest.mark.parametrize("name", DATA)
@fuzzed
@given(how=st.one_of(damage, st.binary(max_size=200)))
def test_damaged_data(name: str, tmp_path_factory: pytest.TempPathFactory, how: Any) -> None:
    file = tmp_path_factory.mktemp("data") / name
    DATA[name](file)
    file.write_bytes(how if isinstance(how, bytes) else damaged(file.read_bytes(), how))
    with refused_or_done():
        source = wn.open(file)
        source.fetch(source.ids[:20])
        assert source.fingerprint


@pytest.mark.parametrize("name", ARTEFACTS)
@fuzzed
@given(how=st.one_of(damage, st.binary(max_size=200)))
def test_damaged_artefacts(name: str, signals: wn.Signals, tmp_path_factory: pytest.TempPathFactory, how: Any) -> None:
    file = tmp_path_factory.mktemp("artefact") / name
    make, kind = ARTEFACTS[name]
    make(signals, file)
    file.write_bytes(how if isinstance(how, bytes) else damaged(file.read_bytes(), how))
    with refused_or_done():
        kind.load(file)


@fuzzed
@given(which=st.sampled_from(["run.json", "steps/signals.json", "todo.json"]), how=st.one_of(damage, st.binary()))
def test_damaged_runs(which: str, signals: wn.Signals, tmp_path_factory: pytest.TempPathFactory, how: Any) -> None:
    from winnow.core.stored_runs import stored_runs, verify_run
    from winnow.engines.written_steps import listed_steps

    place = tmp_path_factory.mktemp("run")
    with Run(place, {"keep": 0.5}) as run:
        run.put("signals", signals, 1.0, file="signals.safetensors")
    (place / "todo.json").write_text('{"command": ["observe"], "folder": "/", "steps": []}')
    content = (place / which).read_bytes()
    (place / which).write_bytes(how if isinstance(how, bytes) else damaged(content, how))
    with refused_or_done(), Run(place, {"keep": 0.5}) as run:
        found = run.get("signals", wn.Signals)
        assert found is None or found.fingerprint == signals.fingerprint
    for look in (stored_runs, verify_run, listed_steps):
        with refused_or_done():
            look(place)
