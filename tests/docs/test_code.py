"""The code in README, CONTRIBUTING and docs/extend.md runs, in separate processes because it registers methods."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.docs.blocks import ROOT, blocks

SCORE = """
import numpy as np
import winnow as wn
from winnow.testing.planted import as_task, planted, shuffled
from winnow.core.errors import InputError

from winnow import testing

testing.check_score("late_loss")
made = planted()
scores = wn.score("late_loss", made.signals)
hard, easy = scores.values[made.hard], scores.values[~made.hard]
assert (hard[:, None] > easy).mean() > 0.9, "higher must be harder"
mixed = wn.score("late_loss", shuffled(made.signals))
assert np.array_equal(mixed.take(scores.ids).values, scores.values), "order must play no part"
assert scores.reliability > 0.5
assert len(wn.score("late_loss", as_task(made.signals, "regression"), share=0.1)) == len(scores)
assert "late_loss" in [method.name for method in wn.list_scores()]
try:
    wn.score("late_loss", made.signals, share=2)
except InputError as error:
    assert "share of score 'late_loss'" in str(error)
else:
    raise AssertionError("share=2 was accepted")
"""

SELECTOR = """
import numpy as np
import winnow as wn
from winnow.testing.planted import planted, shuffled

from winnow import testing

testing.check_selector("spaced")
made = planted(counts=(90, 40, 11))
for size in (1, 2, 37, 140, 141):
    for balance in (None, 0.5, 1.0):
        subset = wn.select("spaced", made.signals, size=size, balance=balance)
        assert len(set(subset.ids.tolist())) == len(subset) == size
        again = wn.select("spaced", shuffled(made.signals), size=size, balance=balance)
        assert np.array_equal(again.ids, subset.ids), "order must play no part"
counts = wn.select("spaced", made.signals, size=30, balance=1.0).certificate["class_counts"]
assert list(counts.values()) == [10, 10, 10], counts
scores = wn.score("el2n", made.signals)
kept = np.isin(scores.ids, wn.select("spaced", scores, keep=0.2).ids)
assert abs(np.median(scores.values[kept]) - np.median(scores.values)) < np.ptp(scores.values) / 4
"""

ADAPTER = """
import json
import numpy as np
from winnow.artefacts import Source
from winnow.sources.assembly import OpenRequest

rows = [{"a": i / 7, "b": i * i % 5, "label": "xy"[i % 2]} for i in range(20)]
Path("rows.jsonl").write_text("\\n".join(map(json.dumps, rows)))
Path("mixed.jsonl").write_text("\\n".join(map(json.dumps, rows[::-1])))
source, mixed = (open_json_lines(Path(name), OpenRequest()) for name in ("rows.jsonl", "mixed.jsonl"))
assert isinstance(source, Source)
import winnow as wn
from winnow import testing
assert wn.open("rows.jsonl").fingerprint == source.fingerprint, "wn.open must find the adapter"
testing.check_source(lambda: wn.open("rows.jsonl"))
assert (len(source), source.columns, source.classes) == (20, ("a", "b"), ("x", "y"))
assert source.fingerprint == mixed.fingerprint, "ids must outlive order"
assert np.allclose(mixed.fetch(source.ids), source.read(np.arange(20)))
Path("bad.jsonl").write_text("{")
try:
    open_json_lines(Path("bad.jsonl"), OpenRequest())
except DataError as error:
    assert "bad.jsonl cannot be read as JSON lines" in str(error)
else:
    raise AssertionError("a broken file was accepted")
"""

EXTENSIONS = """
from pathlib import Path
import winnow as wn
from winnow import testing

testing.check_score("learning_time")
testing.check_selector("middle")
testing.check_signal("dimmed_loss")
Path("few.svm").write_text("\\n".join(f"{k % 2} 1:{k} 2:{k * k % 7}" for k in range(20)))
testing.check_source(lambda: wn.open("few.svm"))
source = wn.open("few.svm")
assert (len(source), source.classes, source.origin["adapter"]) == (20, ("0", "1"), "svmlight")
method = "learning_time(skip=1)+middle(centre=0.4)"
short = {"model": "mlp", "recipe": wn.Recipe(epochs=3, batch=8), "engine": wn.Local(workers=1)}
assert len(wn.prune("few.svm", keep=0.5, method=method, **short)) == 10
Path("bad.svm").write_text("0 one:two")
try:
    wn.open("bad.svm")
except DataError as error:
    assert "bad.svm cannot be read as svmlight" in str(error)
else:
    raise AssertionError("a broken file was accepted")
"""


def run(code: str, folder: Path) -> str:
    """What a script prints when run elsewhere, with the repository's tests at hand and no data set."""
    script = folder / "script.py"
    script.write_text(code)
    surroundings = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}
    surroundings.pop("WINNOW_DATA", None)
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=folder,
        env=surroundings,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_check_of_the_readme(tmp_path: Path) -> None:
    code, *_ = blocks("README.md")
    assert '"digits"' in code
    assert "200 examples checked." in run(code.replace('"digits"', '"digits", limit=200'), tmp_path)  # quicker
    for name in ("issues.parquet", "issues.csv", "check.html"):
        assert (tmp_path / "runs" / "check" / name).exists()


def test_the_experiment_of_the_readme(tmp_path: Path) -> None:
    _, code, _ = blocks("README.md")
    assert 15 <= len(code.splitlines()) <= 30
    said = run(code, tmp_path)
    for arm in ("full", "random@0.5", "el2n-hard", "forgetting-hard", "aum-strata"):
        assert f"\n{arm} " in said
    assert (tmp_path / "report.html").stat().st_size > 10_000
    assert (tmp_path / "subset.parquet").exists()


def test_the_own_loop_of_the_readme(tmp_path: Path) -> None:
    *_, code = blocks("README.md")
    said = run(f"{code}\nprint(len(subset), sum(len(batch[0]) for batch in smaller), len(dataset))\n", tmp_path)
    kept, drawn, whole = map(int, said.split())
    assert kept == drawn == round(whole / 2)


def test_the_examples_of_contributing(tmp_path: Path) -> None:
    score, selector, adapter = blocks("CONTRIBUTING.md")
    for number, code in enumerate((score + SCORE, selector + SELECTOR, adapter + ADAPTER)):
        (folder := tmp_path / str(number)).mkdir()
        run(code, folder)


def test_the_methods_of_the_page_about_extensions(tmp_path: Path) -> None:
    pieces = blocks("docs/extend.md")
    assert len(pieces) == 4
    run("\n".join([*pieces, EXTENSIONS]), tmp_path)


def test_the_scripts_in_examples_are_short_and_say_what_they_do() -> None:
    scripts = sorted(path for path in (ROOT / "examples").glob("*.py") if path.name != "run_all.py")
    assert len(scripts) >= 6
    for script in scripts:
        text = script.read_text()
        assert text.startswith('"""'), script.name
        assert len(text.splitlines()) < 40, script.name
        assert "WINNOW_DATA" not in text, script.name
