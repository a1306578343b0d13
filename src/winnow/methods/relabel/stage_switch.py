"""When to switch from the targets to the actual method: Algorithm 1 of ReLA (Sun et al. 2024), exact and scaled.

Two running averages of the loss l, starting from 1 and 2:

    fast <- .999 fast + .001 l
    slow <- .99 slow + .01 fast
    stage 2 permanently as soon as exp(-max(slow - fast, 0)) >= .995

The constants suit a training of about 3,900 steps: with a constant loss of 1 the switch comes at step 527, with a loss
of 0 at step 3,087. A training of 400 steps would never leave stage 1. With N planned steps, one step here stands for
m = 3,900 / N steps of the algorithm. Scaling the two rates to 1 - (1 - r)^m is not enough: slow follows fast within a
step, and at N = 100 the switch would come up to five steps early. So the pair moves as m steps with the same loss move
it, for integer m or not. With F = fast - l and S = slow - l a step of the algorithm is F <- .999 F,
S <- .99 S + .00999 F, under which S - 1.11 F shrinks by .99. So

    F <- .999^m F        S - 1.11 F <- .99^m (S - 1.11 F).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from ...core import checks
from ...core.errors import DivergedError, InputError, UnknownNameError

__all__ = ["REFERENCE_STEPS", "Switch"]

REFERENCE_STEPS = 3900
FAST_KEEP, FAST_TAKE = 0.999, 0.001
SLOW_KEEP, SLOW_TAKE = 0.99, 0.01
FAST_START, SLOW_START = 1.0, 2.0
CONVERGED = 0.995
# The part of slow that moves with fast: the c that solves c .999 = .99 c + .01 .999.
FOLLOWS = SLOW_TAKE * FAST_KEEP / (FAST_KEEP - SLOW_KEEP)
NEVER = -1.0  # stands for None in a state of plain numbers


class Switch:
    """Decides from the losses of stage 1 when stage 2 begins.

    Parameters
    ----------
    planned_steps
        The number of steps of the whole training; the switch then comes at the same fraction of it for any length. None
        keeps the constants of the paper, which suit 3,900 steps.
    at
        "adaptive" for the algorithm, a number of steps after which to switch whatever the losses, or None for never.

    Attributes
    ----------
    active
        Whether stage 1 is still running.
    steps
        The number of steps of stage 1 so far.
    switched_at
        The number of steps in stage 1, once it is over.
    """

    def __init__(self, planned_steps: int | None = None, at: str | int | None = "adaptive") -> None:
        if planned_steps is not None:
            planned_steps = checks.integer("planned_steps", "Switch", planned_steps, low=1)
        if isinstance(at, str):
            if at != "adaptive":
                raise UnknownNameError.of("switch", at, ["adaptive"])
        elif at is not None:
            at = checks.integer("switch", "Switch", at, low=0)
        self.planned_steps, self.at = planned_steps, at
        self.fast, self.slow = FAST_START, SLOW_START
        self.steps = 0
        self.switched_at: int | None = 0 if at == 0 else None

    @property
    def active(self) -> bool:
        """Whether stage 1 is still running."""
        return self.switched_at is None

    @property
    def adaptive(self) -> bool:
        """Whether the losses decide."""
        return self.at == "adaptive"

    def update(self, loss: float = 0.0) -> None:
        """Count one step of stage 1; after the switch this does nothing.

        Parameters
        ----------
        loss
            The loss of stage 1 in this step. Only the adaptive switch uses it.
        """
        if not self.active:
            return
        if not math.isfinite(loss):
            raise DivergedError(
                f"the loss of stage 1 is {loss} at step {self.steps + 1}; lower the learning rate, or check for "
                "targets that are zero or not finite."
            )
        self.steps += 1
        if self.adaptive:
            self._average(loss)
            over = math.exp(-max(self.slow - self.fast, 0.0)) >= CONVERGED
        else:
            over = self.steps == self.at
        if over:
            self.switched_at = self.steps

    def _average(self, loss: float) -> None:
        if self.planned_steps in (None, REFERENCE_STEPS):
            self.fast = FAST_KEEP * self.fast + FAST_TAKE * loss
            self.slow = SLOW_KEEP * self.slow + SLOW_TAKE * self.fast
            return
        m = REFERENCE_STEPS / float(self.planned_steps or REFERENCE_STEPS)
        fast, slow = self.fast - loss, self.slow - loss
        apart = SLOW_KEEP**m * (slow - FOLLOWS * fast)
        fast *= FAST_KEEP**m
        self.fast, self.slow = fast + loss, FOLLOWS * fast + apart + loss

    def state_dict(self) -> dict[str, float]:
        """Return the whole state as plain numbers; -1 stands for None, -2 for adaptive."""
        return {
            "fast": self.fast,
            "slow": self.slow,
            "steps": float(self.steps),
            "switched_at": NEVER if self.switched_at is None else float(self.switched_at),
            **self._settings(),
        }

    def load_state_dict(self, state: Mapping[str, float]) -> None:
        """Continue from a state, which must come from a switch with the same settings.

        Parameters
        ----------
        state
            The result of `state_dict`.
        """
        own = self.state_dict()
        if set(state) != set(own):
            found = ", ".join(sorted(state)) or "nothing"
            raise InputError(f"state of Switch must hold exactly {', '.join(sorted(own))}; got {found}.")
        values = {name: checks.number(name, "a Switch's state", value) for name, value in state.items()}
        for name, wanted in self._settings().items():
            if values[name] != wanted:
                raise InputError(
                    f"state of Switch must come from a switch with the same planned_steps and switch; "
                    f"its {name} is {values[name]:g}, this one's {wanted:g} (-1: none, -2: adaptive)."
                )
        self.fast, self.slow = values["fast"], values["slow"]
        self.steps = int(values["steps"])
        self.switched_at = None if values["switched_at"] == NEVER else int(values["switched_at"])

    def _settings(self) -> dict[str, float]:
        at = -2.0 if self.adaptive else NEVER if self.at is None else float(self.at)
        return {"planned_steps": float(self.planned_steps or NEVER), "at": at}
