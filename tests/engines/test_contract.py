"""One contract for all engines: one process, two workers, and a hostile engine. Ray is in test_ray.py."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import winnow as wn
from winnow import testing
from winnow.core.errors import InputError
from winnow.core.run import Run
from winnow.engines import Engine, Job, Later, Local, Needs, run_jobs
from winnow.engines.parcel import packed, parcel_file, unpacked_file
from winnow.engines.receipts import Place, Work, received
from winnow.engines.worker import shared_gpus

from .hostile import Hostile


@pytest.mark.parametrize("engine", [Local(workers=1), Local(workers=2), *(Hostile(seed) for seed in range(5))], ids=str)
def test_contract(engine: Engine) -> None:
    assert testing.check_engine(engine) == 6


def observed(path: Path, engine: Any) -> dict[str, bytes]:
    wn.observe("digits", "mlp", wn.Recipe(epochs=2), seeds=4, limit=80, out=path, engine=engine)
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*.safetensors")}


def test_trainings_are_the_same_on_every_engine(tmp_path: Path) -> None:
    """Real trainings; the hostile engine is interrupted three times, and the same call goes on."""
    wanted = observed(tmp_path / "one", Local(workers=1))
    assert len(wanted) == 4
    assert observed(tmp_path / "two", Local(workers=2)) == wanted
    engine = Hostile(3, [1, 0, 2], forks=False)  # no forks: torch is running
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            observed(tmp_path / "three", engine)
    assert observed(tmp_path / "three", engine) == wanted
    assert engine.executed <= 2 * (1 + 2 + 1)  # what was finished is not done again


def test_an_artefact_is_recorded_once_and_doing_it_twice_changes_nothing(tmp_path: Path) -> None:
    observed(tmp_path / "run", Hostile(1, forks=False))
    engine = Hostile(2, forks=False)
    observed(tmp_path / "run", engine)
    assert engine.executed == 0
    assert not list((tmp_path / "run").rglob(".*"))  # no mark and no unfinished file is left


class OneTime:
    """An array that counts how often it is unpacked in a process."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __reduce__(self) -> Any:
        return unpacked_here, (self.values,)


UNPACKED: list[int] = []


def unpacked_here(values: np.ndarray) -> OneTime:
    UNPACKED.append(os.getpid())
    return OneTime(values)


def count(shared: OneTime, item: int) -> tuple[int, int, bool]:
    from tests.engines import test_contract

    return os.getpid(), len(test_contract.UNPACKED), bool(shared.values[item] == item)


def test_what_is_shared_reaches_each_worker_once() -> None:
    """Eight jobs, two workers: a job is a few bytes, and the shared array is unpacked once in each process."""
    values = np.arange(2_000_000.0)
    found = [value for _, value, _ in Local(workers=2).map(count, range(8), shared=(OneTime(values),))]
    assert {times for _, times, _ in found} == {1}
    assert all(right for _, _, right in found)
    assert len({process for process, _, _ in found} - {os.getpid()}) >= 1
    assert len(packed(3).head) < 100


def test_a_parcel_is_mapped_and_a_page_is_copied_when_written_to(tmp_path: Path) -> None:
    values = np.arange(100_000.0)
    with parcel_file({"values": values, "odd": np.arange(3, dtype=np.uint8)}) as name:
        found = unpacked_file(name)
        assert unpacked_file(name) is found
        found["values"][0] = 7
        assert found["odd"].tolist() == [0, 1, 2]
        assert found["values"].ctypes.data % 64 == 0
    assert not Path(name).exists()
    assert values[0] == 0
    assert found["values"][1] == 1  # still there, though the file is not


def test_a_worker_that_cannot_see_the_run_sends_the_files(tmp_path: Path) -> None:
    source = wn.open("digits", limit=20)
    signals = wn.embed(source, "raw")
    away = Work(lambda item: signals, Place(str(tmp_path), ".not-there"))
    receipt = away(Job("embed", None, file="signals/raw.safetensors"))
    assert receipt.rows == 20
    assert list(receipt.files) == ["signals/raw.safetensors"]
    assert not list(tmp_path.iterdir())
    received(receipt, tmp_path)
    assert wn.Signals.load(tmp_path / "signals/raw.safetensors").fingerprint == signals.fingerprint
    (tmp_path / ".there").touch()
    here = Work(lambda item: signals, Place(str(tmp_path), ".there"))(Job("embed", None, file="again.safetensors"))
    assert here.files == {}
    assert here.digests["again.safetensors"] == receipt.digests["signals/raw.safetensors"]


@pytest.mark.parametrize(
    ("workers", "gpus", "needs", "wanted"),
    [
        (4, 2, Needs(gpu=True), (2, ["0", "1"])),
        (1, 2, Needs(gpu=True), (1, ["0", "1"])),
        (4, 0, Needs(gpu=True), (4, [])),
        (4, 2, Needs(), (4, [])),
    ],
)
def test_gpus_are_shared_out(workers: int, gpus: int, needs: Needs, wanted: Any, monkeypatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert shared_gpus(workers, gpus, needs) == wanted


def test_visible_gpus_keep_their_names(monkeypatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5,6")
    assert shared_gpus(4, 2, Needs(gpu=True)) == (2, ["3", "5"])


def device(folder: Path, item: int) -> tuple[str, bool]:
    """Hold a device for a moment, and see whether someone else holds it."""
    name = os.environ["CUDA_VISIBLE_DEVICES"]
    mark = folder / name
    alone = not mark.exists()
    mark.touch()
    time.sleep(0.05)
    mark.unlink()
    return name, alone


def test_a_gpu_is_one_jobs_alone(tmp_path: Path) -> None:
    """Two made-up GPUs, six jobs: never two jobs on one device at the same time."""
    found = Local(workers=4, gpus=2).map(device, range(6), shared=(tmp_path,), needs=Needs(gpu=True))
    names, alone = zip(*(value for _, value, _ in found), strict=True)
    assert set(names) <= {"0", "1"}
    assert all(alone)
    assert "CUDA_VISIBLE_DEVICES" not in os.environ or os.environ["CUDA_VISIBLE_DEVICES"] not in {"0", "1"}


def process(item: float) -> int:
    time.sleep(item)
    return os.getpid()


def test_small_work_starts_no_worker() -> None:
    from winnow.engines import local

    local._pool.update(workers=0)  # as in a new process
    here = [value for _, value, _ in Local(workers=2).map(process, [0.0] * 6, needs=Needs(numbers=100.0))]
    assert set(here) == {os.getpid()}
    assert local.stays_here(0.2, 5, 2)
    assert not local.stays_here(60.0, 5, 2)


def test_long_work_goes_to_workers_after_its_first_item(monkeypatch) -> None:
    from winnow.engines import local

    local._pool.update(workers=0)
    monkeypatch.setattr(local, "START", 0.0)
    found = {index: value for index, value, _ in Local(workers=2).map(process, [0.05] * 4, needs=Needs(numbers=100.0))}
    assert found[0] == os.getpid()
    assert os.getpid() not in {found[1], found[2], found[3]}


class First:
    """An engine of the first contract."""

    def map(self, function: Any, items: Any) -> Any:
        return []


def test_an_engine_of_the_first_contract_is_refused() -> None:
    with pytest.raises(InputError, match="engine of observe must be an engine whose map takes shared= and needs="):
        wn.observe("digits", "mlp", engine=First(), limit=20)


def test_later_needs_a_run_directory(tmp_path: Path) -> None:
    with pytest.raises(wn.errors.WinnowError, match="give one with out"):
        wn.observe("digits", "mlp", engine=Later(), limit=20)
    with Run(tmp_path / "run", {}) as run:
        assert run_jobs(run, Later(), abs, [], wn.Signals, "nothing") == []
