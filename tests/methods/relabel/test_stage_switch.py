"""The switch against Algorithm 1 as printed, its scaled form against itself at other lengths, and its state."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.oracles.rela import algorithm_1
from winnow.core.errors import DivergedError, InputError, UnknownNameError
from winnow.methods.relabel.stage_switch import REFERENCE_STEPS, Switch

CONSTANT = {1.0: 527, 0.9: 833, 0.7: 1884, 0.5: 2395, 0.3: 2731, 0.1: 2982, 0.0: 3087}


def switched(switch, losses):
    for loss in losses:
        switch.update(float(loss))
    return switch.switched_at


def falling(n, seed):
    """A loss that falls from 1 to .3, with noise, over a training of n steps."""
    noise = np.random.default_rng(seed).normal(0, 0.02, n)
    return 0.3 + 0.7 * np.exp(-5 * np.arange(n) / n) + noise


@pytest.mark.parametrize(("loss", "step"), CONSTANT.items())
def test_the_steps_of_the_paper(loss, step):
    for planned in (None, REFERENCE_STEPS):
        switch = Switch(planned)
        assert switched(switch, [loss] * (step - 1)) is None
        assert switch.active
        assert switched(switch, [loss]) == step
        assert not switch.active
    assert algorithm_1([loss] * 4000) == step


@pytest.mark.parametrize("seed", range(3))
def test_any_losses_switch_where_the_printed_loop_does(seed):
    losses = falling(5000, seed)
    assert switched(Switch(), losses) == algorithm_1(losses) < 5000


@pytest.mark.parametrize("every", [2, 3, 13, 39, 130])
def test_a_scaled_step_is_that_many_steps_of_the_algorithm(every):
    losses = falling(REFERENCE_STEPS // every, 1)
    assert switched(Switch(REFERENCE_STEPS // every), losses) == algorithm_1(losses, every)


@pytest.mark.parametrize("planned", [100, 137, 400, 1000, 7777, 39_000, 100_000])
@pytest.mark.parametrize("loss", [1.0, 0.7, 0.0])
def test_the_fraction_is_the_same_at_any_length(planned, loss):
    reference = CONSTANT[loss] / REFERENCE_STEPS
    step = switched(Switch(planned), [loss] * planned)
    # Neither of the two can switch between its own steps.
    assert abs(step / planned - reference) < 1 / planned + 1 / REFERENCE_STEPS


@pytest.mark.parametrize("planned", [None, 800])
def test_saved_and_loaded_midway_it_switches_at_the_same_step(planned):
    losses = falling(planned or 4000, 2)
    whole = Switch(planned)
    switched(whole, losses)
    for cut in (1, 300, whole.switched_at - 1, whole.switched_at, len(losses) - 1):
        first, rest = Switch(planned), Switch(planned)
        switched(first, losses[:cut])
        rest.load_state_dict(first.state_dict())
        assert switched(rest, losses[cut:]) == whole.switched_at
        assert rest.state_dict() == whole.state_dict()


def test_it_switches_for_good():
    switch = Switch()
    switched(switch, [1.0] * 527)
    before = switch.state_dict()
    switched(switch, [5.0] * 10)
    assert switch.state_dict() == before


def test_a_fixed_step_and_never():
    assert switched(Switch(at=7), [9.0] * 6) is None
    assert switched(Switch(at=7), [9.0] * 8) == 7
    assert switched(Switch(at=None), [1.0] * 5000) is None
    off = Switch(at=0)
    assert (off.active, off.switched_at) == (False, 0)


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="planned_steps of Switch must be a whole number of at least 1; got 0"):
        Switch(0)
    with pytest.raises(InputError, match=r"switch of Switch must be a whole number of at least 0; got 0\.5"):
        Switch(at=0.5)
    with pytest.raises(UnknownNameError, match=r"unknown switch 'adapted' \(nearest: 'adaptive'\)"):
        Switch(at="adapted")
    for loss in (math.nan, math.inf):
        switch = Switch()
        with pytest.raises(DivergedError, match=f"loss of stage 1 is {loss} at step 1; lower the learning rate"):
            switch.update(loss)
        assert switch.steps == 0


def test_a_foreign_state_is_refused():
    state = Switch(400).state_dict()
    with pytest.raises(InputError, match="its planned_steps is 400, this one's -1"):
        Switch().load_state_dict(state)
    with pytest.raises(InputError, match="its at is -2, this one's 12"):
        Switch(400, at=12).load_state_dict(state)
    with pytest.raises(
        InputError, match="must hold exactly at, fast, planned_steps, slow, steps, switched_at; got fast"
    ):
        Switch(400).load_state_dict({"fast": 1.0})
    with pytest.raises(InputError, match="slow of a Switch's state must be a finite number; got nan"):
        Switch(400).load_state_dict({**state, "slow": math.nan})
