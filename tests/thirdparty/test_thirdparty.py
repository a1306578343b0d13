"""A package from outside adds a signal, a score, a selector and a source, with no line of winnow changed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import winnow

HERE = Path(__file__).parent
HOME = Path(winnow.__file__).parents[1]

SCRIPT = """
import numpy as np
import winnow as wn
from winnow import testing
from winnow.core import registry

ONE, SHORT = wn.Local(workers=1), wn.Recipe(epochs=2, batch=8)
source = wn.open("few.semi")
assert (len(source), source.task, source.classes) == (40, "classification", ("a", "b"))
assert source.origin["adapter"] == "semicolons"

signals = wn.observe(source, "mlp", SHORT, seeds=2, want=("wobble", "logits"), engine=ONE)
assert signals.arrays["wobble"].shape == (2, 40, 2)
assert wn.Signals.load(signals.save("s.safetensors")).take(source.ids[:3]).arrays["wobble"].shape == (2, 3, 2)

scores = wn.score("unsteadiness", signals, shake=1)
assert scores.reliability is not None
assert np.allclose(scores.values, signals.arrays["wobble"][:, :, 1].mean(axis=0))
assert len(wn.select("spaced", scores, size=10)) == 10

asked = {"model": "mlp", "recipe": SHORT, "seeds": 1, "engine": "local"}
subset = wn.prune(source, 0.5, method="unsteadiness(shake=1)+spaced(shift=0.2)", **asked)
assert subset.certificate["parameters"] == {"score": {"shake": 1}, "selector": {"shift": 0.2}}
again = wn.prune(source, 0.5, method="spaced", shake=1, shift=0.2, **asked)
assert again.ids.tolist() == subset.ids.tolist()
from winnow.planning.resources import estimate
asked |= {"seeds": 2, "seconds_per_example": 1e-3}
found = estimate(source, method="spaced", keep=0.5, **asked)
assert found.trainings == 2
assert dict(found.parts)["disk: signals"] > 2 * 40 * 2 * 4

assert testing.check_all("winnow_example") == 7 + 16 + 15
assert testing.check_source(lambda: wn.open("few.semi")) == 5
print("fine")
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment with the example package, and one that cannot be imported, installed beside winnow."""
    folder = tmp_path_factory.mktemp("thirdparty")
    packages = [folder / "example", folder / "broken"]
    shutil.copytree(HERE, packages[0], ignore=shutil.ignore_patterns("test_*", "__pycache__"))
    (packages[1] / "winnow_broken").mkdir(parents=True)
    text = (HERE / "pyproject.toml").read_text().replace("winnow-example", "winnow-broken")
    (packages[1] / "pyproject.toml").write_text(text.replace("winnow_example", "winnow_broken"))
    (packages[1] / "winnow_broken" / "__init__.py").write_text(
        "from winnow.core import registry\n\n"
        "@registry.engine(name='half')\nclass Half:\n    '''Half done.'''\n\n"
        "raise RuntimeError('its library\\nis too old')\n"
    )
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    pip += ["--disable-pip-version-check", "--target", str(folder / "site")]
    subprocess.run([*pip, *map(str, packages)], check=True, timeout=300)
    return {**os.environ, "PYTHONPATH": f"{folder / 'site'}{os.pathsep}{HOME}", "OMP_NUM_THREADS": "1", "NO_COLOR": "1"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data in the package's own format."""
    made = tmp_path_factory.mktemp("data")
    lines = [f"{(7 * k) % 11};{k % 5};{k};{'ab'[k % 2]}" for k in range(40)]
    (made / "few.semi").write_text("\n".join(lines))
    return made


def run(arguments: list[str], folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


def test_from_python(installed: dict[str, str], folder: Path) -> None:
    done = run(["-c", SCRIPT], folder, installed)
    assert done.stdout == "fine\n"
    assert done.stderr.count("is left out") == 1


def test_from_the_command_line(installed: dict[str, str], folder: Path) -> None:
    winnow_ = ["-c", "from winnow.cli import main; main()"]
    short = ["--model", "mlp", "--epochs", "2", "--seeds", "1", "--workers", "1"]
    listed = run([*winnow_, "methods", "--json"], folder, installed)
    found = {(row["kind"], row["name"]) for row in json.loads(listed.stdout)["methods"] if row["package"] != "winnow"}
    wanted = {("signal", "wobble"), ("score", "unsteadiness"), ("selector", "spaced"), ("source", "semicolons")}
    assert found == wanted
    assert "winnow: note: plugin 'example' of winnow-broken 1.0 is left out" in listed.stderr
    assert "RuntimeError: its library is too old" in listed.stderr
    text = run([*winnow_, "methods"], folder, installed).stdout
    assert all(name in text for _, name in wanted)
    run([*winnow_, "observe", "few.semi", "--want", "wobble", "--out", "seen", *short], folder, installed)
    assert (folder / "seen" / "signals.safetensors").exists()
    method = ["--method", "unsteadiness(shake=1)+spaced", "--keep", "0.5", "--proof-seeds", "2", "--out", "pruned"]
    pruned = run([*winnow_, "prune", "few.semi", *method, *short], folder, installed).stdout
    assert "by unsteadiness(shake=1)+spaced@0.5" in pruned
