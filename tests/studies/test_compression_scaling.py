import numpy as np
import pytest
from studies.compression import scaling
from studies.compression.scaling import ARMS, Sizes, kept, table, verdict
from studies.parts import Asked
from studies.shelf import Shelf

SIZES = Sizes(points=(1000, 4000, 16_000))


def asked(out):
    return Asked(Shelf(out, "compression scaling"), out, (), 1, quick=True)


def test_quick_run_goes_on(tmp_path, monkeypatch):
    part = scaling.run(asked(tmp_path))
    assert len(part.table) == 2 + 3 + 1
    assert part.figure is not None
    files = {file: file.stat().st_mtime_ns for file in tmp_path.glob("errors/*.json")}
    assert len(files) == scaling.TEACHERS
    monkeypatch.setattr(scaling, "errors", None)  # nothing may be trained again
    assert scaling.run(asked(tmp_path)) == part
    assert {file: file.stat().st_mtime_ns for file in tmp_path.glob("errors/*.json")} == files


def made_up(loss):
    """Errors like d^-.6 for full, and `loss` powers of d more for all else, but for a little noise."""
    rng = np.random.default_rng(0)
    d = np.array(SIZES.points)
    falls = np.array([d**-0.6, *(d ** (loss - 0.6) for _ in ARMS[1:])])
    return falls * rng.normal(1, 0.01, (10, *falls.shape))


def test_sizes_are_the_papers():
    assert [kept(d) for d in (1000, 10_000)] == [506, 1600]


def test_a_compression_that_costs_nothing_doubles_the_exponent():
    found = made_up(0.0)
    line = verdict(SIZES, found)[1]
    assert "exponent 1.20" in line
    assert "against 0.60" in line
    assert "this holds" in line
    assert "all sizes: 1.0" in line
    assert table(SIZES, found)[-1].startswith("| exponent |")


def test_one_that_costs_powers_is_said_to_fail():
    line = verdict(SIZES, made_up(0.2))[1]
    assert "this does not hold" in line


def test_a_random_subset_that_does_as_well_is_pointed_out():
    assert "does not show what compression does" in verdict(SIZES, made_up(0.0))[-1]
    assert len(verdict(SIZES, made_up(0.2))) == len(ARMS)


def test_paired_ratios_cancel_what_data_share():
    found = made_up(0.0) * np.random.default_rng(1).uniform(0.5, 2, (10, 1, 1))
    assert scaling.paired(found)["order 6"][0].centre == pytest.approx(1, abs=0.02)
    assert scaling.paired(found)["order 6"][0].half_width < 0.02
