import numpy as np
import pytest
import torch
from studies.compression import width_scaling
from studies.compression.harmonic import learned, task, wide
from studies.compression.teacher import Rule
from studies.compression.width_scaling import ARMS, Sizes, exponents, table, verdict
from studies.parts import Asked
from studies.shelf import Shelf


def test_quick_run_goes_on(tmp_path, monkeypatch):
    asked = Asked(Shelf(tmp_path, "compression width_scaling"), tmp_path, (), 2, quick=True)
    part = width_scaling.run(asked)
    assert len(part.table) == 2 + 2 + 1
    monkeypatch.setattr(width_scaling, "errors", None)  # nothing may be trained again
    assert width_scaling.run(asked) == part


def made_up(power, narrow_power, random_power=None, lost=3.0):
    sizes = Sizes()
    d = np.array(sizes.widths, dtype=float)
    less = np.array([sizes.narrow(int(one)) for one in d])
    random_power = power if random_power is None else random_power
    narrow = less**-narrow_power
    rows = np.stack([d**-power, narrow, 2 * narrow, lost * narrow[0] * (less / less[0]) ** -random_power], axis=1)
    return sizes, np.array([rows * factor for factor in (0.9, 1.0, 1.1)])


def test_every_narrow_network_is_narrower():
    sizes = Sizes()
    assert all(sizes.narrow(width) < width for width in sizes.widths)
    assert sizes.narrow(10_000) == 1600


def test_exponents_are_found_and_judged():
    sizes, found = made_up(0.5, 1.0)
    fitted = exponents(sizes, found)
    np.testing.assert_allclose(fitted["wide"], 0.5)
    np.testing.assert_allclose(fitted["order 6"], 1.0)
    lines = verdict(sizes, found)
    assert "this holds" in lines[1]
    assert "0.50 ± 0.00" in table(sizes, found)[-1]
    assert len(lines) == 1 + 3 + 2  # no word on random, whose exponent has not grown


def test_an_exponent_that_does_not_grow_is_said_not_to():
    sizes, found = made_up(0.5, 0.55)
    assert "this does not hold" in verdict(sizes, found)[1]


def test_random_neurons_that_steepen_as_much_take_the_ratio_s_worth():
    sizes, found = made_up(0.5, 1.0, random_power=1.0)
    assert "does not show what matching moments does" in verdict(sizes, found)[-1]


@pytest.mark.parametrize(("lost", "said"), [(3.0, "smaller holds"), (0.5, "smaller does not hold")])
def test_narrowed_networks_are_compared_with_random_ones(lost, said):
    sizes, found = made_up(0.5, 1.0, random_power=1.0, lost=lost)
    found = found * np.random.default_rng(0).uniform(0.99, 1.01, found.shape)
    assert verdict(sizes, found)[1 + len(ARMS[1:])].endswith(f"that it is {said}.")


def test_no_law_is_said_to_be_none():
    sizes, found = made_up(-0.1, 0.1)
    lines = verdict(sizes, found)
    assert len(lines) == 2
    assert "no law to steepen" in lines[-1]


def test_training_with_decay_is_another_training():
    on = task(4, 10.0, 100, 50, 0.2, seed=0)
    ends = [learned(wide(20, "ReLU", 0), on, Rule(name, 0.01, 32, 5), 0, [5]) for name in ("Adam", "AdamW", "AdamW")]
    assert not torch.equal(ends[0].outputs, ends[1].outputs)
    assert torch.equal(ends[1].outputs, ends[2].outputs)
