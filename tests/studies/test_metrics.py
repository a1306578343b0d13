import importlib

import numpy as np
import pytest
from studies.metrics import shifts, similarity
from studies.metrics.__main__ import PARTS
from studies.parts import Asked
from studies.shelf import Shelf

import winnow as wn


def asked(out, name, seeds=2):
    return Asked(Shelf(out / name, f"metrics {name}"), out / name, ("mnist",), seeds, quick=True)


@pytest.mark.parametrize("name", PARTS)
def test_quick_run_has_a_verdict_and_goes_on(tmp_path, mnist, monkeypatch, name):
    if name == "backbones":
        pytest.importorskip("lightly")
    run = importlib.import_module(f"studies.metrics.{name}").run
    part = run(asked(tmp_path, name))
    assert part.name == name
    assert len(part.verdict) > 1
    assert "LeNet-5" in part.settings
    monkeypatch.setattr(wn, "evaluate", None)  # nothing may be trained again
    monkeypatch.setattr(wn, "observe", None)
    assert run(asked(tmp_path, name)) == part


def test_corruptions_keep_shape_labels_and_range(tmp_path, mnist):
    made = shifts.tests_of(asked(tmp_path, "shifts"))
    clean = made.pop(shifts.CLEAN)
    before = clean.read(np.arange(len(clean))).astype(float)
    assert set(made) == set(shifts.CORRUPTIONS)
    for source in made.values():
        assert source.shape == clean.shape
        assert np.array_equal(np.asarray(source.labels), np.asarray(clean.labels))
        after = source.read(np.arange(len(source))).astype(float)
        assert 1 < np.abs(after.reshape(before.shape) - before).mean() < 100


def test_balance_and_likeness_are_told():
    n = len(similarity.SCORES)
    alike = np.full((n, n), 0.3) + 0.7 * np.eye(n)
    alike[0, 1] = alike[1, 0] = 0.9
    balance = {f"{name} {side}": 0.4 for name in similarity.SCORES for side in ("hard", "easy")} | {"random": 0.9}
    text = "\n".join(similarity.verdict([{"alike": alike.tolist(), "balance": balance}] * 3))
    assert "grand and el2n 0.90 ± 0.00" in text
    assert f"for {n} of {n} scores if the hardest half is kept and for {n} if the easiest is" in text
