"""Mutation testing of the modules whose errors nobody would see: `make mutants`, or `python -m tools.mutants --help`.

A mutant is a module with one small fault: a comparison turned, a plus for a minus, a constant nudged, a statement left
out. It is killed if one of the tests that judge its module fails, and what survives shows what no test looks at. Each
module names the tests that judge it. They are run once to see which of them reach which line; a mutant then meets only
those that reach its line, the fastest first.

The working tree is never touched: mutants are written into a temporary copy of `src`. Each runs in a fork of this
process, which has imported everything but winnow already, so it costs about a second. Mutants that no test can tell
from the original are listed in `tools/equivalent_mutants.toml`, each with its reason.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import tomllib
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.mutations import Mutation, mutations_of

ROOT = Path(__file__).resolve().parent.parent
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.toml")
JUDGES: dict[str, tuple[str, ...]] = {
    "artefacts/intervals": ("tests/artefacts/test_intervals.py", "tests/artefacts/test_artefacts.py"),
    "artefacts/ledger": ("tests/evaluation/test_ledger.py",),
    "artefacts/quotas": (
        "tests/artefacts/test_balance.py",
        "tests/selectors/test_twins.py",
        "tests/selectors/test_moments.py",
    ),
    "core/files": ("tests/core/test_run.py", "tests/core/test_files.py"),
    "core/run": ("tests/core/test_run.py", "tests/evaluation/test_ledger.py"),
    "core/run_lock": ("tests/core/test_run.py",),
    "core/step_record": ("tests/core/test_run.py", "tests/evaluation/test_ledger.py"),
    "evaluation/loss_limit": ("tests/evaluation/test_loss_limit.py", "tests/evaluation/test_tolerance.py"),
    "evaluation/fold_limit": ("tests/evaluation/test_fold_limit.py",),
    "evaluation/rotating_folds": ("tests/evaluation/test_rotating_search.py",),
    "evaluation/rotating_search": ("tests/evaluation/test_rotating_search.py",),
    "evaluation/tolerance": ("tests/evaluation/test_tolerance.py", "tests/evaluation/test_refusals.py"),
    "methods/influence/certify": ("tests/methods/influence",),
    "methods/narrowing/neuron_choice": ("tests/methods/narrowing/test_neuron_choice.py",),
    "planning/agreement": ("tests/planning/test_accuracy_forecast.py",),
    "planning/accuracy_forecast": ("tests/planning/test_accuracy_forecast.py",),
    "planning/pilot_gains": ("tests/planning/test_pilot_gains.py",),
    "planning/recommendation": ("tests/planning/test_recommendation.py",),
    "planning/resources": ("tests/planning/test_resources.py",),
    "planning/run_files": ("tests/planning/test_resources.py",),
    "planning/verdict": ("tests/planning/test_verdict.py",),
    "pruning/earlier_plan": ("tests/pruning/test_earlier_plan.py",),
    "selectors/balance": ("tests/selectors/test_quotas.py", "tests/selectors/test_moments.py"),
}
SLOWEST = 8.0  # seconds; slower tests do not judge
PYTEST = ("-x", "-q", "-p", "no:cacheprovider", "--durations=0")


@dataclass(frozen=True)
class Judge:
    """A test: its seconds, and the lines of the module that it runs."""

    name: str
    seconds: float
    lines: frozenset[int]


class Recorder:
    """A pytest plugin that notes which test runs which lines of one file.

    Lines run in a test's setup count for every test of the same file, which may share the fixture.
    """

    def __init__(self, watched: Path) -> None:
        self.watched = str(watched)
        self.lines: dict[str, set[int]] = {}
        self.shared: dict[str, set[int]] = {}
        self.seconds: dict[str, float] = {}

    def _tracing(self, into: set[int]) -> Iterator[None]:
        def inside(frame: Any, event: str, _argument: object) -> Any:
            if event == "line":
                into.add(frame.f_lineno)
            return inside

        def entering(frame: Any, _event: str, _argument: object) -> Any:
            if frame.f_code.co_filename != self.watched:
                return None
            into.add(frame.f_lineno)
            return inside

        sys.settrace(entering)
        try:
            yield
        finally:
            sys.settrace(None)

    def hooks(self) -> object:
        """The hooks, for pytest."""
        import pytest

        recorder = self

        class Hooks:
            @pytest.hookimpl(hookwrapper=True)
            def pytest_runtest_setup(self, item: Any) -> Iterator[None]:
                yield from recorder._tracing(recorder.shared.setdefault(item.nodeid.split("::")[0], set()))

            @pytest.hookimpl(hookwrapper=True)
            def pytest_runtest_call(self, item: Any) -> Iterator[None]:
                yield from recorder._tracing(recorder.lines.setdefault(item.nodeid, set()))

            def pytest_runtest_logreport(self, report: Any) -> None:
                recorder.seconds[report.nodeid] = recorder.seconds.get(report.nodeid, 0.0) + report.duration

        return Hooks()


def forked(task: Callable[[], int], seconds: float, log: Path = Path(os.devnull)) -> int | None:
    """What the task returned in a fork of this process; None if it took too long and was ended."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 70
        try:
            os.setpgid(0, 0)
            with log.open("w") as words:
                os.dup2(words.fileno(), 1)
                os.dup2(words.fileno(), 2)
            code = task()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def pytest_in(src: Path, arguments: Iterable[str], plugins: Iterable[object] = ()) -> int:
    """Run pytest in this process, on the package in `src`; with plugins bytecode is kept, for the runs without."""
    import pytest

    if not plugins:
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.path.insert(0, str(src))
    os.environ["PYTHONPATH"] = str(src)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # seconds of imports that no test here needs
    os.chdir(ROOT)
    return int(pytest.main([*PYTEST, *arguments], plugins=list(plugins)))


def judges_of(src: Path, module: str, tests: Iterable[str], notes: Path) -> tuple[list[Judge], list[str]]:
    """The tests that judge a module, fastest first, and what they import beside winnow."""
    watched = src / "winnow" / f"{module}.py"

    def baseline() -> int:
        recorder = Recorder(watched)
        code = pytest_in(src, tests, [recorder.hooks()])
        found = [
            {"name": name, "seconds": recorder.seconds[name], "lines": sorted(lines | recorder.shared[file])}
            for name, lines in recorder.lines.items()
            if (file := name.split("::")[0]) in recorder.shared
        ]
        foreign = [name for name in sys.modules if name.split(".")[0] not in ("winnow", "tests", "conftest")]
        notes.write_text(json.dumps({"tests": found, "modules": foreign}))
        return code

    notes.unlink(missing_ok=True)
    code = forked(baseline, 1800, log := notes.with_suffix(".log"))
    if code != 0:
        raise SystemExit(f"{log.read_text()[-3000:]}\n{module}: the tests that judge it do not pass as they are.")
    said = json.loads(notes.read_text())
    judges = [Judge(test["name"], test["seconds"], frozenset(test["lines"])) for test in said["tests"]]
    return sorted(judges, key=lambda judge: judge.seconds), said["modules"]


def import_all(names: Iterable[str]) -> None:
    """Import what the tests will import anyway, once, before forking."""
    for name in names:
        if name not in sys.modules and name.split(".")[0] not in ("_pytest", "__main__", "__mp_main__"):
            with suppress(BaseException):
                importlib.import_module(name)
    gc.freeze()  # what is there already need not be searched for garbage in every fork


def try_out(src: Path, module: str, mutation: Mutation, judges: list[Judge]) -> str:
    """Whether a mutant is `killed`, `survived` or `unreached` by any judge."""
    reached = [judge for judge in judges if judge.lines & set(mutation.lines) or mutation.at_import]
    fast = [judge for judge in reached if judge.seconds <= SLOWEST]
    if not fast:
        return "unreached"
    file = src / "winnow" / f"{module}.py"
    original = file.read_bytes()
    for bytecode in (file.parent / "__pycache__").glob(f"{file.stem}.*"):
        bytecode.unlink()  # or it might pass for that of the mutant
    try:
        file.write_text(mutation.source)
        limit = 20 + 5 * sum(judge.seconds for judge in fast)
        code = forked(lambda: pytest_in(src, [judge.name for judge in fast]), limit)
    finally:
        file.write_bytes(original)
    return "survived" if code == 0 else "killed"


def run(modules: Iterable[str], sample: int | None, seed: int) -> int:
    """Try mutants of each module, print what survives and a table."""
    known = tomllib.loads(EQUIVALENT.read_text()) if EQUIVALENT.exists() else {}
    table, alive = [], 0
    with tempfile.TemporaryDirectory() as folder:
        src = Path(folder) / "src"
        shutil.copytree(ROOT / "src", src, ignore=shutil.ignore_patterns("*.pyc"))  # numba's caches stay, for speed
        for module in modules:
            started = time.monotonic()
            tests = [test for test in JUDGES[module] if (ROOT / test).exists()]
            judges, foreign = judges_of(src, module, tests, Path(folder) / "notes.json")
            import_all(foreign)
            original = (src / "winnow" / f"{module}.py").read_text()
            if try_out(src, module, Mutation((), True, "nothing", original), judges) != "survived":
                raise SystemExit(
                    f"{module}: the module as it is counts as killed, so no fate below it would mean a thing."
                )
            found = mutations_of(original)
            if sample is not None and sample < len(found):
                found = sorted(random.Random(f"{seed} {module}").sample(found, sample), key=lambda m: m.lines)
            counts = {"killed": 0, "survived": 0, "unreached": 0, "equivalent": 0}
            for mutation in found:
                reason = known.get(module, {}).get(mutation.change)
                fate = "equivalent" if reason else try_out(src, module, mutation, judges)
                counts[fate] += 1
                if fate in ("survived", "unreached"):
                    print(f"{fate:9}  {module}.py:{mutation.lines[0]}  {mutation.change}", flush=True)
            alive += counts["survived"] + counts["unreached"]
            table.append((module, len(found), *counts.values(), round(time.monotonic() - started)))
            print("|", *(f"{cell} |" for cell in table[-1]), flush=True)
    print("\n| module | mutants | killed | survived | unreached | equivalent | seconds |\n|---|" + "--:|" * 6)
    for row in table:
        print("|", *(f"{cell} |" for cell in row))
    return min(alive, 1)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Plant small faults and see whether the tests notice.")
    parser.add_argument("--module", action="append", choices=sorted(JUDGES), help="only this one; may be repeated")
    parser.add_argument("--sample", type=int, help="so many mutants of each module, at random; all if not given")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    asked = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import_all(["pytest", "numpy", "scipy.stats", "torch"])
    return run(asked.module or sorted(JUDGES), asked.sample, asked.seed)


if __name__ == "__main__":
    raise SystemExit(main())
