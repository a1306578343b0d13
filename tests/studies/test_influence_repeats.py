import numpy as np
from studies.influence import repeats
from studies.parts import Asked
from studies.shelf import Shelf

import winnow as wn


def asked(out, seeds=1):
    return Asked(Shelf(out / "repeats", "influence repeats"), out / "repeats", ("mnist",), seeds, quick=True)


def test_quick_run_adds_repeats_and_goes_on(tmp_path, mnist, monkeypatch):
    part = repeats.run(asked(tmp_path))
    assert "2 repeats" in part.settings  # one was asked for, and one knows nothing of its interval
    assert len([line for line in part.table if line.startswith("| mnist")]) == 1 + len(repeats.KEPT) * 3
    monkeypatch.setattr(wn, "evaluate", None)  # nothing may be trained again
    monkeypatch.setattr(wn, "observe", None)
    assert repeats.run(asked(tmp_path)) == part


def made_up(gain, spread, n):
    wobble = np.linspace(-spread, spread, n)
    cells = []
    for one in wobble:
        cell = {"full": 90.0}
        for share in repeats.KEPT:
            cell |= {f"by random at {share:g}": 80.0, f"by class_centre at {share:g}": 75.0}
            cell[f"by influence at {share:g}"] = 80.0 + gain + one
        cells.append(cell)
    return cells


def test_repeats_end_when_the_difference_is_known():
    assert repeats.narrow(made_up(0.0, 1.0, 10))
    assert not repeats.narrow(made_up(0.0, 6.0, 10))
    assert not repeats.narrow(made_up(0.0, 0.0, 1))


def test_what_is_undecided_says_what_is_ruled_out():
    text = "\n".join(repeats.verdict({"blocks": made_up(0.2, 1.0, 10)}))
    assert text.count("not shown (a difference of more than 0.7 points is ruled out)") == len(repeats.KEPT)
    assert text.count("nearest to the class centre +5.20 ± 0.48 ▲: holds") == len(repeats.KEPT)
    assert ": holds" in "\n".join(repeats.verdict({"blocks": made_up(2.0, 1.0, 10)}))
