import numpy as np
import pytest
from studies.influence import loo
from studies.influence.heads import trained
from studies.influence.loo import table, verdict
from studies.parts import Asked
from studies.shelf import Shelf


def asked(out, seeds=2):
    return Asked(Shelf(out, "influence loo"), out, ("mnist",), seeds, quick=True)


def test_quick_run_goes_on(tmp_path, mnist, monkeypatch):
    part = loo.run(asked(tmp_path))
    assert len(part.table) == 2 + 2 + 1
    assert part.figure is not None
    kept = {file: file.stat().st_mtime_ns for file in tmp_path.glob("left out/*.json")}
    assert len(kept) == 2
    monkeypatch.setattr(loo, "left_out", None)  # nothing may be made again
    assert loo.run(asked(tmp_path)) == part
    assert {file: file.stat().st_mtime_ns for file in tmp_path.glob("left out/*.json")} == kept


def test_draws_differ_and_leaving_nothing_out_changes_nothing(mnist):
    one, other = (trained("mnist", 100, 4, "loo", repeat) for repeat in range(2))
    assert not np.array_equal(one.features, other.features)
    np.testing.assert_allclose(one.without(np.empty(0, dtype=np.int64)), one.head.theta, atol=1e-8)
    assert one.features.shape == (100, 5)
    assert len(one.others) == 100


def made_up(off):
    """Five draws of ten images whose vectors miss by about `off` of their length."""
    rng = np.random.default_rng(0)
    return [
        [
            {"predicted": 1 - miss, "newton": 1 - miss / 10, "actual": 1.0, "difference": miss}
            for miss in off * rng.uniform(0.9, 1.1, 10)
        ]
        for _ in range(5)
    ]


@pytest.mark.parametrize(("off", "word"), [(0.02, "at most 5% holds; 50 of 50"), (0.1, "at most 5% does not hold; 0")])
def test_the_verdict_follows_the_numbers(off, word):
    lines = verdict(made_up(off))
    assert word in lines[1]
    assert lines[2].endswith("too short.")
    cells = [cell.strip() for cell in table(made_up(off))[-1].split("|")[1:-1]]
    assert cells[0] == "all"
    assert float(cells[1]) == pytest.approx(1 - off, rel=0.01)
    assert float(cells[6]) == pytest.approx(1 - off / 10, rel=0.01)
