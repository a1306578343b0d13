"""Ways to run the command line: in this process, as a process of its own, and as the installed command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from winnow.cli import _run
from winnow.core import progress

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NO_COLOR": "1"}
COMMAND = Path(sys.executable).with_name("winnow")
PATIENCE = 120.0  # seconds that anything may take before the test gives up


@dataclass(frozen=True)
class Said:
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def winnow(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Said]:
    """The command line in this process, without progress, which depends on how busy the machine is."""
    monkeypatch.setattr(progress, "PATIENCE", 1e9)

    def run(*arguments: object) -> Said:
        capsys.readouterr()
        code = _run([str(item) for item in arguments])
        said = capsys.readouterr()
        return Said(code, said.out, said.err)

    return run


@dataclass(frozen=True)
class Started:
    """A winnow process that runs by itself."""

    pid: int
    output: Path
    ask: Callable[[dict[str, Any]], Any]

    def until(self, happened: Callable[[], bool]) -> None:
        """Wait for something to show on disk; the process must not end before."""
        deadline = time.monotonic() + PATIENCE
        while not happened():
            if time.monotonic() > deadline:
                raise AssertionError(f"waited in vain; stderr: {self.output.with_suffix('.err').read_text()}")
            time.sleep(0.002)

    def kill(self, how: signal.Signals = signal.SIGKILL) -> Said:
        """Send a signal and wait for the end."""
        os.kill(self.pid, how)
        return self.ended()

    def ended(self) -> Said:
        code = self.ask({"wait": self.pid})
        return Said(code, self.output.with_suffix(".out").read_text(), self.output.with_suffix(".err").read_text())


@pytest.fixture(scope="session")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Started]]:
    """Starts winnow processes that can be watched and killed."""
    folder = tmp_path_factory.mktemp("output")
    with subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("zygote.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    ) as zygote:
        assert zygote.stdin is not None
        assert zygote.stdout is not None
        talk_in, talk_out = zygote.stdin, zygote.stdout
        assert json.loads(talk_out.readline()) == "ready"

        def ask(request: dict[str, Any]) -> Any:
            talk_in.write(json.dumps(request) + "\n")
            talk_in.flush()
            return json.loads(talk_out.readline())

        def start(*arguments: object) -> Started:
            start.count += 1  # type: ignore[attr-defined]
            output = folder / str(start.count)  # type: ignore[attr-defined]
            pid = ask({"start": [str(item) for item in arguments], "output": str(output)})
            return Started(pid, output, ask)

        start.count = 0  # type: ignore[attr-defined]
        yield start


def installed(*arguments: object) -> Said:
    """The installed command, started from nothing."""
    done = subprocess.run(
        [str(COMMAND), *map(str, arguments)],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        timeout=PATIENCE,
        check=False,
    )
    return Said(done.returncode, done.stdout, done.stderr)
