"""A training that is cut at any moment goes on from its checkpoint and ends with the same bits."""

from __future__ import annotations

import contextlib
import os
import signal
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import winnow as wn
from winnow.core.files import fingerprint
from winnow.core.stored_runs import verify_run
from winnow.core.unfinished import UNFINISHED, under_way
from winnow.training import Feed, predict, train
from winnow.training import checkpoint as module
from winnow.training.dynamic_sampler import DynamicSampler
from winnow.training.recorder import Recorder

ALWAYS = 1e-9  # minutes


class Cut(Exception):
    """The process ends here."""


class Net(torch.nn.Module):
    """Draws random numbers, has buffers, and one that `state_dict` leaves out."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Flatten(), torch.nn.Linear(64, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.5)
        )
        self.head = torch.nn.Linear(8, 10)
        self.register_buffer("seen", torch.zeros(()), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            self.seen += 1
        found: torch.Tensor = self.head(self.layers(x)) + 0.01 * self.seen
        return found


@pytest.fixture
def feed() -> Feed:
    return Feed(wn.open("digits", limit=90))


def trained(
    feed: Feed, place: Path | None, cut: int | None = None, net: Callable[[], torch.nn.Module] = Net, **how: Any
) -> tuple[str, Any, int]:
    """Train until `cut` steps are done in this process; return a digest of all that came of it, and the steps."""
    recipe = wn.Recipe(epochs=4, batch=16, checkpoint=ALWAYS, **how.pop("recipe", {}))
    recorder = Recorder(len(feed), 10, planned_epochs=4, keep=("dynamics", "predictions"), missing="carry")
    assert feed.targets is not None
    recorder.expect(feed.targets.numpy())
    steps = 0

    def after_batch(where: Any, output: torch.Tensor) -> None:
        nonlocal steps
        if steps == cut:
            raise Cut
        steps += 1
        recorder.log_outputs(where, output)

    torch.manual_seed(0)
    model = net()
    sampler = DynamicSampler(len(feed), steps=24, batch=16, seed=3) if how.pop("dynamic", False) else None

    def after_epoch(_epoch: int, model: torch.nn.Module) -> None:
        predict(model, feed, recipe)  # changes nothing, not even the order of weights in memory
        recorder.end_epoch()

    with under_way(place, "step", "key"):
        done = train(
            model,
            feed,
            recipe,
            5,
            sampler=sampler,
            steps=24,
            after_batch=after_batch,
            after_epoch=after_epoch,
            beside=(recorder,),
            **how,
        )
    recorded = recorder.signals()
    weights = [value.numpy().tobytes() for value in model.state_dict().values()]
    return fingerprint(done.steps, recorded.fingerprint, *weights), done, steps


def one_convolution() -> torch.nn.Module:  # of one channel: its weights count as contiguous with channels last too
    return torch.nn.Sequential(torch.nn.Conv2d(1, 8, 3), torch.nn.Flatten(), torch.nn.Linear(288, 10))


def convolutions() -> torch.nn.Module:
    layers = torch.nn.Conv2d(1, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.MaxPool2d(2), torch.nn.Conv2d(8, 8, 2)
    return torch.nn.Sequential(*layers, torch.nn.Flatten(), torch.nn.Linear(32, 10))


HOW: dict[str, dict[str, Any]] = {
    "adamw": {},
    "sgd": {"recipe": {"optimizer": "sgd", "schedule": "onecycle"}},
    "augmented": {"recipe": {"augment": ("flip", "crop"), "schedule": "constant"}},
    "sharded": {"recipe": {"order": "sharded"}},
    "weighted": {"weights": np.linspace(0.5, 2, 90)},
    "dynamic": {"dynamic": True},
    "one convolution": {"net": one_convolution},
    "convolutions": {"net": convolutions, "recipe": {"optimizer": "sgd"}},
}


@pytest.mark.parametrize("name", HOW)
def test_the_same_bits_wherever_it_is_cut(name: str, feed: Feed, tmp_path: Path) -> None:
    whole, _, steps = trained(feed, None, **HOW[name] | {})
    assert steps == 24
    for cut in (1, 5, 6, 7, 17, 22):
        place = tmp_path / str(cut)
        with pytest.raises(Cut):
            trained(feed, place, cut, **HOW[name] | {})
        assert (place / UNFINISHED / "step" / "0.safetensors").is_file()
        with pytest.raises(Cut):  # cut once more, right after it went on
            trained(feed, place, 1, **HOW[name] | {})
        again, done, rest = trained(feed, place, **HOW[name] | {})
        assert again == whole, cut
        assert done.steps == 24
        assert rest < 24


def test_an_undisturbed_training_with_checkpoints_is_the_same(feed: Feed, tmp_path: Path) -> None:
    assert trained(feed, None)[0] == trained(feed, tmp_path)[0]


@pytest.mark.parametrize("damage", ["flip", "cut", "other key", "gone"])
def test_a_checkpoint_that_is_not_its_own_is_not_used(damage: str, feed: Feed, tmp_path: Path) -> None:
    whole = trained(feed, None)[0]
    with pytest.raises(Cut):
        trained(feed, tmp_path, 9)
    file = tmp_path / UNFINISHED / "step" / "0.safetensors"
    content = bytearray(file.read_bytes())
    if damage == "flip":
        content[-7] ^= 1
    elif damage == "cut":
        del content[-7:]
    elif damage == "gone":
        file.unlink()
    else:
        at = content.index(fingerprint("key").encode())
        content[at : at + 4] = b"0000"
    if damage != "gone":
        file.write_bytes(content)
    again, _, steps = trained(feed, tmp_path)
    assert again == whole
    assert steps == 24  # from the start


def test_short_trainings_and_others_write_none(feed: Feed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """None before the interval, none without an interval, none where something could not be put back."""

    class Counting(Net):
        calls = 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            return super().forward(x)

    def files() -> list[Path]:
        return list(tmp_path.rglob("*.safetensors"))

    trained(feed, tmp_path, net=Counting)
    assert not files()
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10))
    with under_way(tmp_path, "step", "key"):
        for minutes in (0, 5.0):
            train(model, feed, wn.Recipe(epochs=1, checkpoint=minutes), 0)
        train(model, feed, wn.Recipe(epochs=1, checkpoint=ALWAYS), 0, after_epoch=lambda *_: None)
        assert not files()
        train(model, feed, wn.Recipe(epochs=2, batch=16, checkpoint=ALWAYS), 0)
        assert len(files()) == 1
    saves = []
    monkeypatch.setattr(module.Checkpoint, "save", lambda self, moment: saves.append(moment))
    with under_way(tmp_path, "step", "key"):
        train(model, feed, wn.Recipe(epochs=1, checkpoint=1.0), 0)
    assert not saves


def test_the_interval_is_not_part_of_a_result() -> None:
    assert wn.Recipe(checkpoint=1).settings() == wn.Recipe().settings()


class Slow(torch.nn.Module):
    """Waits in each step of a training as long as the environment says, so that it can be killed within."""

    def __init__(self) -> None:
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 16), torch.nn.Dropout(0.2))
        self.head = torch.nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            time.sleep(float(os.environ.get("NAP", "0")))
        found: torch.Tensor = self.head(self.body(x))
        return found


def observed(source: wn.Source, how: wn.Recipe, run: Path) -> None:
    want = ("dynamics", "predictions", "gradients")
    more: dict[str, Any] = {"gradient_epoch": 2, "gradient_dim": 8, "keep_networks": True}
    wn.observe(source, Slow(), how, 2, want, out=run, engine=wn.Local(workers=1), **more)


def folded(source: wn.Source, how: wn.Recipe, run: Path) -> None:
    wn.observe(source, Slow(), how, want=("oof",), folds=2, out=run, engine=wn.Local(workers=1))


def evaluated(source: wn.Source, how: wn.Recipe, run: Path) -> None:
    more: dict[str, Any] = {"test": wn.open("digits", split="test", limit=60), "seeds": 1, "dynamic": True}
    half = wn.Subset(source.ids[:60])
    wn.evaluate(source, {"half": half}, model=Slow(), recipe=how, out=run, engine=wn.Local(workers=1), **more)


def recipe(minutes: float) -> wn.Recipe:
    return wn.Recipe(epochs=4, batch=16, checkpoint=minutes)


def started(call: Callable[[wn.Source, wn.Recipe, Path], None], run: Path, minutes: float, nap: float) -> int:
    """Start a process that makes the call."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.environ["NAP"] = str(nap)
        warnings.simplefilter("ignore")
        call(wn.open("digits", limit=120), recipe(minutes), run)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def checkpoints(run: Path) -> dict[Path, int]:
    return {file: file.stat().st_mtime_ns for file in (run / UNFINISHED).rglob("[0-9]*.safetensors")}


def killed_inside(call: Callable[..., None], run: Path) -> bool:
    """Start the call and kill it soon after it has written a checkpoint; whether it was."""
    before, pid = checkpoints(run), started(call, run, ALWAYS, 0.05)
    until = time.monotonic() + 120
    while time.monotonic() < until and not os.waitpid(pid, os.WNOHANG)[0]:
        with contextlib.suppress(FileNotFoundError):
            if checkpoints(run).items() - before.items():
                time.sleep(0.3)
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                return True
        time.sleep(0.01)
    return False


def ended(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def files_of(run: Path) -> dict[str, bytes]:
    """The bytes of all files of a run that may not depend on time."""
    files = [file for file in sorted(run.rglob("*")) if file.is_file() and file.name not in DURATIONS]
    return {
        str(file.relative_to(run)): file.read_bytes() for file in files if "steps" not in file.relative_to(run).parts
    }


DURATIONS = ("lock", "todo.json", "costs.json")


@pytest.mark.parametrize("call", [observed, folded, evaluated])
def test_after_kill_9_the_same_call_goes_on_inside_the_training(
    call: Callable[[wn.Source, wn.Recipe, Path], None], tmp_path: Path
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call(wn.open("digits", limit=120), recipe(0), tmp_path / "plain")  # here, so that children start in no time
    run = tmp_path / "killed"
    assert killed_inside(call, run)
    assert killed_inside(call, run)
    assert checkpoints(run)
    assert ended(started(call, run, ALWAYS, 0)) == 0
    assert not (run / UNFINISHED).exists()
    assert files_of(run) == files_of(tmp_path / "plain")
    assert not verify_run(run)
