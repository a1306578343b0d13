"""Kill commands and damage their files, again and again: no result may ever differ without a word.

    python -m tools.torture --kills 100 --flips 300 --seed 0

Each command runs once undisturbed. Then it is killed (kill -9) at random moments and given again until it ends; and
bytes of its finished files are flipped or cut off, one file at a time, and the command is given again. It must end
with the result of the undisturbed run, byte for byte, or refuse in a sentence. Trainings write a checkpoint after each
step, so that kills fall between them too. What holds seconds is left out of the comparison: no two runs share them.
Prints a table for docs/run-directory.md; the exit code is 1 if a result differed. `--tally FILE` adds to the counts of
earlier calls, so that long runs can be made in pieces with other seeds.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SMALL = "--model mlp --epochs 2 --batch 64 --workers 1 --checkpoint 1e-6"
FEW_STEPS = "--model mlp --epochs 1 --batch 128 --workers 1 --checkpoint 1e-6"  # there are eighteen trainings
COMMANDS = {
    "prune": f"prune digits --limit 240 --keep 0.6 --seeds 2 --veto 1 --proof-seeds 2 {SMALL}",
    "observe": f"observe digits --limit 240 --seeds 3 --want dynamics --want embeddings {SMALL}",
    "check": f"check digits --limit 240 {SMALL}",
    "relabel": "relabel digits --limit 600 --prior random --dim 8",
    "plan": f"plan digits --limit 400 --pilot --pilot-size 200 --pilot-seeds 2 {FEW_STEPS}",
}
UNSEEN = {"lock", "todo.json"}
SECONDS = {"costs.json", "report.html"}  # hold seconds, or show them; so does plan.json in part
TIMED = re.compile(r"second|cost|bill|saved|time|pays|^selection$|^parts$|^sentences$", re.IGNORECASE)


@dataclass
class Tally:
    """What happened to one command."""

    kills: int = 0
    ended: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    differed: list[str] = field(default_factory=list)

    def added(self, other: Tally) -> Tally:
        """Both together."""
        both = (self.kills + other.kills, self.ended + other.ended)
        return Tally(*both, self.outcomes + other.outcomes, self.differed + other.differed)


def _read(file: Path | None) -> dict[str, Tally]:
    if file is None or not file.exists():
        return {}
    found = json.loads(file.read_text())
    return {name: Tally(**{**one, "outcomes": Counter(one["outcomes"])}) for name, one in found.items()}


def main(arguments: list[str] | None = None) -> int:
    """Run the torture and print its table."""
    parser = argparse.ArgumentParser(description="Kill commands and damage their files; compare the results.")
    parser.add_argument("--kills", type=int, default=100, help="kills over all commands")
    parser.add_argument("--flips", type=int, default=300, help="damaged files over all commands")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tally", type=Path, help="file with the counts of earlier calls")
    parser.add_argument(
        "--command", action="append", choices=COMMANDS, help="only this one; may be given several times"
    )
    asked = parser.parse_args(arguments)
    names = asked.command or list(COMMANDS)
    _warm()
    tallies = _read(asked.tally)
    with tempfile.TemporaryDirectory(prefix="winnow-torture-") as folder:
        for place, name in enumerate(names):
            dice = random.Random(f"{asked.seed} {name}")
            share = [count // len(names) + (place < count % len(names)) for count in (asked.kills, asked.flips)]
            found = tortured(name, Path(folder), share[0], share[1], dice)
            print(f"{name}: {found}", file=sys.stderr, flush=True)
            tallies[name] = found.added(tallies[name]) if name in tallies else found
            if asked.tally is not None:
                asked.tally.write_text(json.dumps({name: vars(one) for name, one in tallies.items()}))
    _show(tallies)
    return int(any(one.differed for one in tallies.values()))


def tortured(name: str, folder: Path, kills: int, flips: int, dice: random.Random) -> Tally:
    """Torture one command."""
    tally, home = Tally(), folder / name
    wanted, whole = home / "wanted", home / "whole"
    start = time.monotonic()
    code, said = ended(started(name, wanted, home / "said"), home / "said")
    if code != 0:
        raise SystemExit(f"{name} does not run: {said}")
    length = time.monotonic() - start
    reference = result(wanted)
    while tally.kills < kills:
        shutil.rmtree(whole, ignore_errors=True)
        met = _killed_until_done(name, whole, home / "said", length, kills - tally.kills, dice)
        tally.kills += met
        tally.ended += 1
        length *= 1.0 if met else 0.8  # kills come too late where the machine has become quicker
        if result(whole) != reference:
            tally.differed.append(f"after kills: {_difference(result(whole), reference)}")
    if not whole.exists():
        shutil.copytree(wanted, whole)
    backup = home / "backup"
    shutil.copytree(whole, backup)
    for _ in range(flips):
        outcome = _damaged(name, whole, backup, home / "said", reference, dice)
        tally.outcomes[outcome.split(":")[0]] += 1
        if outcome.startswith("DIFFERED"):
            tally.differed.append(outcome)
    return tally


def _killed_until_done(name: str, place: Path, said: Path, length: float, most: int, dice: random.Random) -> int:
    """Kill the command at random moments, and give it again; at most five times, then let it end."""
    for count in range(min(5, most)):
        pid = started(name, place, said)
        time.sleep(dice.uniform(0, length))
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:  # it was quicker than the kill, which does not count
            _must_end(name, os.waitstatus_to_exitcode(status), said.read_text())
            return count
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    _must_end(name, *ended(started(name, place, said), said))
    return min(5, most)


def _must_end(name: str, code: int, words: str) -> None:
    if code != 0:
        raise SystemExit(f"{name} did not resume: {words}")


def _damaged(name: str, place: Path, backup: Path, said: Path, wanted: dict[str, Any], dice: random.Random) -> str:
    """Damage one file, give the command again, and say what came of it."""
    shutil.rmtree(place)
    shutil.copytree(backup, place)
    files = sorted(file for file in place.rglob("*") if file.is_file() and file.name not in UNSEEN)
    file = dice.choice([one for one in files if one.stat().st_size])
    content = bytearray(file.read_bytes())
    if dice.random() < 0.7:
        content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
        what = "a flipped bit"
    else:
        del content[dice.randrange(len(content)) :]
        what = "a cut"
    file.write_bytes(content)
    where = f"{what} in {file.relative_to(place)}"
    code, words = ended(started(name, place, said), said)
    if code == 2 and words.startswith("winnow: ") and words.count("\n") == 1:
        return f"refused: {where}"
    if code != 0:
        return f"DIFFERED: {where} ended with {code}: {words[-300:]}"
    stayed = file.exists() and file.read_bytes() == bytes(content)
    if stayed and _known(place, str(file.relative_to(place))):
        wanted = {name: value for name, value in wanted.items() if name != str(file.relative_to(place))}
        found = {name: value for name, value in result(place).items() if name in wanted}
        return f"noticed when read: {where}" if found == wanted else f"DIFFERED: {where}: {_difference(found, wanted)}"
    if result(place) != wanted or stayed:
        return f"DIFFERED: {where}: {_difference(result(place), wanted) or 'it stayed as it was'}"
    return f"{'mended with a note' if 'again' in words else 'written again'}: {where}"


def _known(place: Path, file: str) -> bool:
    """Whether the records of a run say that a file, or the record of a step itself, is damaged."""
    from winnow.core.stored_runs import verify_run

    if not (place / "run.json").exists():
        return False
    step = file.removeprefix("steps/").removesuffix(".json")
    return any(f"{file} " in one.what or one.step == step for one in verify_run(place))


def started(name: str, place: Path, said: Path) -> int:
    """Start the command in a process of its own."""
    place.parent.mkdir(parents=True, exist_ok=True)
    out = place / "targets.parquet" if name == "relabel" else place
    words = [*COMMANDS[name].split(), "--out", str(out)]
    pid = os.fork()
    if pid:
        return pid
    with contextlib.suppress(BaseException):
        from winnow.cli import _run

        handle = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        sys.stdout, sys.stderr = (os.fdopen(os.dup(handle), "w", buffering=1) for _ in range(2))
        with Path(os.devnull).open("w") as quiet, contextlib.redirect_stdout(quiet):
            os._exit(_run(words))
    os._exit(70)


def ended(pid: int, said: Path) -> tuple[int, str]:
    """Wait for a process; return its exit code and what it wrote."""
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), said.read_text() if said.exists() else ""


def result(place: Path) -> dict[str, Any]:
    """Everything that a run holds and that does not depend on seconds."""
    found = {}
    for file in sorted(place.rglob("*")):
        name = str(file.relative_to(place))
        if file.is_file() and file.name not in UNSEEN and not name.startswith("steps"):
            with contextlib.suppress(Exception):
                found[name] = repr(_content(file))  # as text, because NaN is not equal to itself
    return found


def _content(file: Path) -> Any:
    if file.name in SECONDS or file.name.endswith(".cost.json"):
        return None
    if file.name == "plan.json":
        return _untimed(json.loads(file.read_text()))
    return file.read_bytes()


def _untimed(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _untimed(inner) for name, inner in value.items() if not TIMED.search(name)}
    return [_untimed(inner) for inner in value] if isinstance(value, list) else value


def _difference(found: dict[str, Any], wanted: dict[str, Any]) -> str:
    names = sorted(name for name in {*found, *wanted} if repr(found.get(name)) != repr(wanted.get(name)))
    return ", ".join(names[:4])


def _warm() -> None:
    """Import what every command needs, so that a process starts in no time."""
    import faiss  # noqa: F401
    import matplotlib.figure  # noqa: F401
    import scipy.stats  # noqa: F401
    import sklearn.datasets
    import sklearn.linear_model
    import torch

    import winnow.checking.check
    import winnow.cli
    import winnow.methods.relabel.prior_targets
    import winnow.planning.plan
    import winnow.pruning.proof
    import winnow.report.sections
    from winnow.core import registry

    torch.set_num_threads(1)
    for kind in registry.KINDS:
        registry.listing(kind)
    sklearn.datasets.load_digits()
    torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1).zero_grad()
    assert winnow.cli.app is not None


def _show(tallies: dict[str, Tally]) -> None:
    kinds = sorted({kind for one in tallies.values() for kind in one.outcomes})
    print("| command | kills | runs ended | " + " | ".join(kinds) + " | differed |")
    print("|---|" + "---|" * (3 + len(kinds)))
    for name, one in tallies.items():
        cells = " | ".join(str(one.outcomes[kind]) for kind in kinds)
        print(f"| {name} | {one.kills} | {one.ended} | {cells} | {len(one.differed)} |")
    for name, one in tallies.items():
        for text in one.differed:
            print(f"{name}: {text}")


if __name__ == "__main__":
    sys.exit(main())
