"""Data and runs at a URL: against a real S3 server on the loopback interface, and in fsspec's memory."""

from __future__ import annotations

import io
import json
import logging
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import winnow as wn
from winnow.core import remote
from winnow.core.errors import DataError, NotFoundError, StoreError
from winnow.core.run import Run
from winnow.sources import row_groups

pytest.importorskip("s3fs")
fsspec = pytest.importorskip("fsspec")


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    made = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def bucket(server: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """An empty bucket, and a cache folder of this test's own."""
    host, port = server.get_host_and_port()
    assert host == "127.0.0.1"
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(remote, "_mirrors", {})
    system = fsspec.filesystem("s3", skip_instance_cache=True)
    if system.exists("winnow"):
        system.rm("winnow", recursive=True)
    system.mkdir("winnow")
    system.invalidate_cache()
    return system


def table(rows: int = 600, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 3))
    return pa.table({"id": np.arange(rows), "a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "label": (x[:, 0] > 0) * 1})


def put(system: Any, path: str, content: bytes) -> None:
    with system.open(path, "wb") as file:
        file.write(content)


def parquet(data: pa.Table, rows: int) -> bytes:
    out = io.BytesIO()
    pq.write_table(data, out, row_group_size=rows, compression="none")
    return out.getvalue()


def same(one: wn.Source, two: wn.Source) -> None:
    assert one.fingerprint == two.fingerprint
    assert np.array_equal(one.ids, two.ids)
    assert np.array_equal(one.read(np.arange(len(one))), two.read(np.arange(len(two))))


def test_parquet_is_the_same_by_path_and_by_url(bucket: Any, tmp_path: Path) -> None:
    (tmp_path / "rows.parquet").write_bytes(parquet(table(), 100))
    put(bucket, "winnow/rows.parquet", parquet(table(), 100))
    same(wn.open("s3://winnow/rows.parquet"), wn.open(tmp_path / "rows.parquet"))
    for part in range(3):
        put(bucket, f"winnow/shards/train-{part:05}.parquet", parquet(table().slice(200 * part, 200), 50))
    put(bucket, "winnow/shards/test-00000.parquet", parquet(table(40, 1), 50))
    same(wn.open("s3://winnow/shards", name="rows"), wn.open(tmp_path / "rows.parquet"))
    assert len(wn.open("s3://winnow/shards/", split="test")) == 40


class Counted:
    """Counts the bytes that are asked of the server."""

    def __init__(self) -> None:
        self.bytes = 0
        self.lock = threading.Lock()

    def around(self, file: Any) -> Any:
        read = file._fetch_range

        def fetch(start: int, end: int) -> bytes:
            with self.lock:
                self.bytes += end - start
            return read(start, end)

        file._fetch_range = fetch
        file.cache.fetcher = fetch
        return file


def test_only_the_row_groups_that_are_needed_are_read(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """40,000 rows of 20 columns: a batch from one row group of 20 reads about a twentieth."""
    wide = pa.table({f"x{k:02}": np.random.default_rng(k).normal(size=40_000) for k in range(20)})
    wide = wide.append_column("id", pa.array(np.arange(40_000))).append_column("label", pa.array(np.arange(40_000) % 2))
    content = parquet(wide, 2_000)
    put(bucket, "winnow/wide.parquet", content)
    counted = Counted()
    opened = remote.remote_file
    monkeypatch.setattr(row_groups, "remote_file", lambda url: counted.around(opened(url)))
    monkeypatch.setattr("winnow.sources.parquet.HELD", 0)  # as for a table that does not fit
    source = wn.open("s3://winnow/wide.parquet", trust_names=True)
    at_first = counted.bytes
    assert at_first < 0.2 * len(content)  # footer, ids and labels
    rows = source.read(np.arange(6_100, 6_200))
    assert rows.shape == (100, 20)
    assert counted.bytes - at_first < 0.07 * len(content)
    assert np.allclose(rows[0, 0], wide["x00"][6_100].as_py())


def test_a_changed_object_is_another_source(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    put(bucket, "winnow/rows.parquet", parquet(table(), 100))
    first = wn.open("s3://winnow/rows.parquet")
    before = first.fingerprint
    put(bucket, "winnow/rows.parquet", parquet(table(seed=5), 100))
    assert wn.open("s3://winnow/rows.parquet").fingerprint != before
    monkeypatch.setattr("winnow.sources.parquet.HELD", 0)  # nothing is held in memory
    row_groups._handles.clear()
    row_groups._groups.clear()
    with pytest.raises(DataError, match="was changed or removed after it was opened"):
        first.read(np.arange(5))


def lines(rows: range) -> bytes:
    return "".join(json.dumps({"id": f"r{k}", "a": k / 7, "b": -k, "label": "xy"[k % 2]}) + "\n" for k in rows).encode()


def test_jsonl_shards(bucket: Any, tmp_path: Path) -> None:
    folder = tmp_path / "local"
    folder.mkdir()
    for part in range(3):
        rows = lines(range(10 * part, 10 * part + 10))
        (folder / f"train-{part}.jsonl").write_bytes(rows)
        put(bucket, f"winnow/json/train-{part}.jsonl", rows)
    put(bucket, "winnow/json/test-0.jsonl", lines(range(100, 105)))
    found = wn.open("s3://winnow/json", name="json")
    assert len(found) == 30
    assert found.origin["url"] == "s3://winnow/json"
    same(found, wn.open(folder, name="json"))
    assert len(wn.open("s3://winnow/json", split="test")) == 5
    put(bucket, "winnow/json/train-2.jsonl", lines(range(20, 24)))
    assert len(wn.open("s3://winnow/json")) == 24  # the new version was fetched


def test_tar_shards(bucket: Any) -> None:
    for part in range(2):
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode="w") as tar:
            for k in range(4):
                array = io.BytesIO()
                np.save(array, np.full(5, 4 * part + k, dtype=np.float32))
                for ending, content in (("npy", array.getvalue()), ("cls", str(k % 2).encode())):
                    about = tarfile.TarInfo(f"{4 * part + k:04}.{ending}")
                    about.size = len(content)
                    tar.addfile(about, io.BytesIO(content))
        put(bucket, f"winnow/tars/shard-{part}.tar", made.getvalue())
    source = wn.open("s3://winnow/tars")
    assert len(source) == 8
    assert sorted(source.read(np.arange(8))[:, 0].tolist()) == list(range(8))


def test_a_training_reads_from_a_url_and_writes_to_one(bucket: Any, tmp_path: Path) -> None:
    """The same bytes as with paths; from a machine that has never seen the run, nothing is trained again."""
    put(bucket, "winnow/rows.parquet", parquet(table(120), 100))
    (tmp_path / "rows.parquet").write_bytes(parquet(table(120), 100))
    how: dict[str, Any] = {"recipe": wn.Recipe(epochs=2), "seeds": 2, "engine": wn.Local(workers=1)}
    here = wn.observe(tmp_path / "rows.parquet", "mlp", out=tmp_path / "run", **how)
    there = wn.observe("s3://winnow/rows.parquet", "mlp", out="s3://winnow/runs/one", **how)
    assert there.fingerprint == here.fingerprint
    for name in ("signals/seed-0.safetensors", "signals/seed-1.safetensors"):
        assert bucket.cat_file(f"winnow/runs/one/{name}") == (tmp_path / "run" / name).read_bytes()
    assert bucket.exists("winnow/runs/one/steps/observe/seed-1.json")
    assert not [name for name in bucket.find("winnow/runs/one") if name.endswith(("lock", "winnow-part"))]
    remote._mirrors.clear()  # another machine
    (tmp_path / "cache" / "winnow" / "runs").rename(tmp_path / "gone")

    class Refusing:
        threads = 1

        def map(self, function: Any, items: Any, *, shared: Any = (), needs: Any = None) -> Any:
            assert not items
            return iter(())

    again = wn.observe("s3://winnow/rows.parquet", "mlp", out="s3://winnow/runs/one", **{**how, "engine": Refusing()})
    assert again.fingerprint == here.fingerprint


def test_a_step_that_was_finished_before_a_kill_is_at_the_url(bucket: Any) -> None:
    run = Run("s3://winnow/runs/two", {"a": 1})
    run.__enter__()
    run.put("made", wn.embed(wn.open("digits", limit=20), "raw"), 1.0, key=1, file="made.safetensors")
    assert bucket.exists("winnow/runs/two/steps/made.json")  # without an exit
    assert bucket.exists("winnow/runs/two/made.safetensors")
    run.__exit__(None, None, None)
    with pytest.raises(StoreError, match="other settings"), Run("s3://winnow/runs/two", {"a": 2}):
        pass


def test_memory_and_what_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    system = fsspec.filesystem("memory")
    put(system, "/data/rows.parquet", parquet(table(50), 10))
    assert len(wn.open("memory://data/rows.parquet")) == 50
    assert len(wn.open(Path("memory://data/rows.parquet"))) == 50
    with pytest.raises(NotFoundError, match="there is nothing at memory://data/rowz"):
        wn.open("memory://data/rowz.parquet")
    with pytest.raises(DataError, match="cannot be read"):
        wn.open("nosuchscheme://data/rows")
