from studies.influence import spare
from studies.influence.curve import CHANCE, OURS
from studies.parts import Asked
from studies.shelf import Shelf

from tests.studies.test_influence_curve import made_up


def test_quick_run_goes_on(mnist, tmp_path, monkeypatch):
    out = tmp_path / "run" / "spare"
    asked = Asked(Shelf(out, "influence spare"), out, ("mnist",), 1, quick=True)
    part = spare.run(asked)
    assert len(part.table) == 2 + 2 * 3
    assert part.figure is not None
    kept = {file: file.stat().st_mtime_ns for file in (tmp_path / "run").rglob("*.json")}
    assert len(kept) == 4
    monkeypatch.setattr(spare, "removals", None)  # nothing may be made again
    assert spare.run(asked) == part
    assert {file: file.stat().st_mtime_ns for file in (tmp_path / "run").rglob("*.json")} == kept


def test_both_ways_stand_beside_random():
    before, found = made_up(0.04, 0.3), made_up(0.06, 0.02)
    lines = spare.table(before, found)
    assert [line.split("|")[2].strip() for line in lines[2:5]] == ["loss spared", "parameters spared", "random"]
    assert "0.06" in lines[2]
    assert "0.04" in lines[3]
    assert all({OURS, CHANCE} <= set(one) for one in found)
