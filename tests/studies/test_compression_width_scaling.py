import numpy as np
from studies.compression import width_scaling
from studies.compression.parts import Asked
from studies.compression.width_scaling import Sizes, exponents, table, verdict
from studies.shelf import Shelf


def test_quick_run_goes_on(tmp_path, monkeypatch):
    asked = Asked(Shelf(tmp_path, "compression width_scaling"), tmp_path, (), 2, quick=True)
    part = width_scaling.run(asked)
    assert len(part.table) == 2 + 2 + 1
    monkeypatch.setattr(width_scaling, "errors", None)  # nothing may be trained again
    assert width_scaling.run(asked) == part


def made_up(power, narrow_power):
    sizes = Sizes()
    d = np.array(sizes.widths, dtype=float)
    less = np.array([sizes.narrow(int(one)) for one in d])
    rows = np.stack([d**-power, less**-narrow_power, 3 * less**-power], axis=1)
    return sizes, np.array([rows * factor for factor in (0.9, 1.0, 1.1)])


def test_exponents_are_found_and_judged():
    sizes, found = made_up(0.5, 1.0)
    fitted = exponents(sizes, found)
    np.testing.assert_allclose(fitted["wide"], 0.5)
    np.testing.assert_allclose(fitted["narrowed"], 1.0)
    assert "this holds" in verdict(sizes, found)[1]
    assert "0.50 ± 0.00" in table(sizes, found)[-1]
    assert len(verdict(sizes, found)) == 3


def test_an_exponent_that_does_not_grow_is_said_not_to():
    sizes, found = made_up(0.5, 0.55)
    assert "this does not hold" in verdict(sizes, found)[1]


def test_no_law_is_said_to_be_none():
    sizes, found = made_up(-0.1, 0.1)
    assert "no law to steepen" in verdict(sizes, found)[-1]
