"""plan on worlds whose truth is known: a perceptron, label noise, nothing but noise; what it keeps and refuses."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import winnow as wn
from tests.signals.small import Counting, rows, shuffled
from winnow.artefacts.pilot_training import PilotTraining
from winnow.artefacts.plan import Plan
from winnow.core.errors import InputError, NotDefinedError, StoreError, UnknownNameError
from winnow.core.request import requested
from winnow.engines import Local
from winnow.planning import next_command as commanding
from winnow.planning import recommendation as advising
from winnow.planning.next_command import Options
from winnow.planning.plan import plan
from winnow.planning.verdict import CARE, NOT
from winnow.pruning.resolved_request import request_of

DIMENSION = 40


@dataclasses.dataclass(frozen=True)
class Nothing:
    """Stands for resources, which have tests of their own."""

    seconds_observe: float = 1.0

    def sentences(self) -> list[str]:
        return ["It costs nothing."]


@pytest.fixture(autouse=True)
def _no_timing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commanding, "estimate", lambda source, **asked: Nothing())


def world(n: int = 3000, flipped: float = 0.0, seed: int = 0) -> wn.Source:
    """The theory's own world: Gaussian inputs, a linear teacher, some labels turned."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, DIMENSION)).astype(np.float32)
    y = x @ rng.normal(size=DIMENSION) > 0
    return wn.open((x, (y ^ (rng.random(n) < flipped)).astype(int)))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer fractions, for tests that are about something else."""
    monkeypatch.setattr(advising, "KEEPS", (0.75, 0.5, 0.25))


@pytest.fixture
def one_thread() -> Iterator[None]:
    """As engines give their tasks; two threads on tiny batches mostly wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def clean() -> Plan:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commanding, "estimate", lambda source, **asked: Nothing())
        return plan(world())


def test_a_perceptron_world_is_recognised(clean: Plan) -> None:
    found = clean.calibration
    # With an exponent to fit as well, the dimension is loosely determined: over 24 pilots it was 6 to 58, and with a
    # floor 24 to 45.
    assert DIMENSION / 2 < found["forms"]["floor"]["dimension"] < 2 * DIMENSION
    assert DIMENSION / 10 < found["forms"]["exponent"]["dimension"] < 2 * DIMENSION
    # A linear student's angle to the teacher is pi times its error, and the halves' error is on the pilot's curve.
    halves = next(point for point in clean.pilot["curve"] if point["size"] == clean.pilot["pool"] // 2)
    truth = 180 * (1 - halves["accuracy"])
    assert found["angle"] == pytest.approx(truth, abs=2.0)
    assert found["probe_angle"] < found["angle"]


def test_a_perceptron_world_is_forecast_within_a_few_points(clean: Plan) -> None:
    assert [(check.policy, check.keep) for check in clean.checks] == [
        ("random", 1.0), ("hard", 0.5), ("hard", 0.25), ("easy", 0.5), ("easy", 0.25)
    ]  # fmt: skip
    for check in clean.checks:
        assert abs(check.miss) < 0.03
        assert check.miss == pytest.approx(check.measured - check.forecast)
    assert clean.trust == CARE
    assert "the forecast is for a linear student, not for your network" in clean.reasons


def test_a_perceptron_world_gets_advice_that_holds(clean: Plan) -> None:
    assert clean.policy in ("hard", "window")
    assert clean.keep < 0.5
    assert clean.expected is not None
    assert clean.full is not None
    assert clean.random is not None
    assert clean.interval is not None
    assert clean.expected >= clean.full - clean.tolerance
    assert clean.expected > clean.random
    assert 0 <= clean.interval[0] < clean.expected < clean.interval[1] <= 1
    assert clean.random_keep is not None
    assert clean.random_keep > clean.keep
    best = {row.keep: row.accuracy for row in clean.forecasts if row.policy == "window"}
    assert all(row.accuracy <= best[row.keep] + 1e-6 for row in clean.forecasts if row.policy in ("hard", "easy"))


def test_what_is_printed_is_short_and_says_what_it_is(clean: Plan) -> None:
    text = str(clean)
    assert len(text.splitlines()) <= 25
    assert "an estimate, not a guarantee" in text
    assert "use with care" in text
    assert "linear student" in text
    assert f"Next: {clean.command}" in text
    assert "It costs nothing." in text
    assert clean.command.endswith("--pilot")  # a linear student advises no pruning of a network


@pytest.mark.usefixtures("few")
def test_label_noise_leaves_a_floor_and_the_measurement_is_followed() -> None:
    made = plan(world(flipped=0.1))
    assert 0.05 < made.calibration["forms"]["floor"]["floor"] < 0.17
    assert made.trust == NOT  # the hardest quarter is mostly turned labels, which no theory of clean labels foresees
    assert any("they may have label issues" in reason for reason in made.reasons)
    assert any("only where the forecast was right" in sentence or "follows the pilot's measurements" in sentence
               for sentence in made.advice)  # fmt: skip
    assert made.policy in ("random", "easy", "everything")


@pytest.mark.usefixtures("few")
def test_pure_noise_is_not_trusted() -> None:
    made = plan(world(flipped=0.5))
    assert made.trust == NOT
    assert any("did not fall" in reason for reason in made.reasons)
    assert (made.policy, made.keep, made.command) == ("everything", 1.0, "winnow plan arrays --pilot")
    assert made.advice[0].startswith("No advice")


def values(made: Plan) -> dict[str, Any]:
    """A plan without its clock."""
    found = made.values()
    found["pilot"].pop("seconds")
    return found


@pytest.mark.usefixtures("few")
def test_same_seed_same_plan_whatever_the_order() -> None:
    small = world(900)
    one, other, moved = plan(small), plan(shuffled(small)), plan(small, seed=1)
    assert values(one) == values(other)
    assert values(one) != values(moved)


@pytest.mark.usefixtures("few")
def test_embeddings_are_what_the_linear_student_sees() -> None:
    source = world(900)
    x = source.read(np.arange(len(source)))
    signals = wn.embed(source)
    by_array, by_signals = plan(source, embeddings=x), plan(source, embeddings=signals.at(np.arange(900)[::-1]))
    assert by_array.checks[0].measured == pytest.approx(by_signals.checks[0].measured, abs=0.01)
    blind = plan(source, embeddings=np.random.default_rng(0).normal(size=(900, 5)))
    assert blind.trust == NOT
    assert blind.command.endswith("--pilot")


PILOT: dict[str, Any] = {
    "pilot": True,
    "pilot_size": 240,
    "model": "mlp",
    "recipe": wn.Recipe(epochs=3, batch=32, lr=0.01),
    "match_iterations": 0.5,
    "pilot_seeds": 2,
}


@pytest.mark.usefixtures("few", "one_thread")
def test_the_users_own_network_and_a_killed_pilot_that_goes_on(tmp_path: Path) -> None:
    source = world(500)
    whole = plan(source, out=tmp_path / "whole", engine=Counting(), **PILOT)
    trainings = 2 + 2 + 4 + 2 + 8
    assert whole.pilot["trainings"] == trainings
    assert whole.pilot["student"] == "your own network"
    assert whole.pilot["factor"] == pytest.approx(500 / 240)
    assert not any("linear" in sentence for sentence in [*whole.advice, *whole.reasons])
    with pytest.raises(KeyboardInterrupt):
        plan(source, out=tmp_path / "killed", engine=Counting(killed_after=7), **PILOT)
    rest = Counting()
    again = plan(source, out=tmp_path / "killed", engine=rest, **PILOT)
    assert rest.done == trainings - 7
    assert values(again) == values(whole)
    assert values(Plan.load(tmp_path / "killed")) == values(again)
    assert (tmp_path / "killed" / "plan.png").read_bytes().startswith(b"\x89PNG")
    for fraction, size in ((0.125, 30), (0.25, 60), (0.5, 120), (1, 240)):
        look = PilotTraining.load(tmp_path / "whole" / "pilot" / f"random@{fraction:g}" / "0.safetensors")
        assert (look.size, look.steps) == (size, PILOT["recipe"].matched_steps(size, 500, 0.5))
        assert look.pool_margins.size == (240 if fraction == 1 else 0)
        assert (look.margins > 0).tolist() == look.correct.astype(bool).tolist()
    other = Counting()
    plan(source, out=tmp_path / "killed", engine=other, **{**PILOT, "tolerance": 0.05})
    assert other.done == 0  # another tolerance asks the same pilot


@pytest.mark.parametrize(
    ("task", "word", "method"),
    [
        ("regression", "the target is a number", "difficulty+tilted(uniform=0.5)"),
        ("unlabelled", "no labels", "prototype+strata"),
    ],
)
def test_other_tasks_get_a_method_and_the_reason(task: str, word: str, method: str, tmp_path: Path) -> None:
    made = plan(rows(60, task), out=tmp_path / "run")
    assert made.policy is None
    assert made.expected is None
    assert word in made.advice[0]
    assert made.method == "auto"
    assert made.advice[1].startswith(f"Suggested method: auto, which chooses {method} (")
    assert made.command == "winnow prune arrays --keep 0.5"  # auto is the default of the command
    by_name = plan(rows(60, task), method="random")
    assert (by_name.method, by_name.command) == ("random", "winnow prune arrays --keep 0.5 --method random")
    assert made.resources["sentences"] == ["It costs nothing."]
    assert Plan.load(tmp_path / "run") == made
    assert not (tmp_path / "run" / "plan.png").exists()


def test_too_few_examples_are_said_to_be_too_few() -> None:
    made = plan(rows(60))
    assert made.advice[0] == "No forecast: 60 examples are too few for a pilot."
    assert "--keep 0.5" in made.command
    assert "auto, which chooses medoids (about 15 examples are kept per class" in made.advice[1]  # at that fraction


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"tolerance": 0}, InputError, "tolerance of plan"),
        ({"pilot_size": 300}, InputError, "pilot_size of plan is for pilot=True"),
        ({"pilot": True, "pilot_size": 10}, InputError, "pilot_size of plan must be a whole number from 200"),
        ({"pilot": True}, InputError, "a pilot of plan needs a pool of at least 200 examples"),
        ({"pilot_seeds": 1}, InputError, "pilot_seeds of plan"),
        ({"method": "el2m"}, UnknownNameError, "unknown method"),
        ({"match_iterations": 2}, InputError, "match_iterations of plan"),
        ({"embeddings": np.zeros((3, 2))}, InputError, "embeddings of plan must have 500 rows"),
        ({"recipe": "quick"}, InputError, "recipe of plan"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(options: dict[str, Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        plan(world(500), **options)


def test_other_refusals() -> None:
    with pytest.raises(InputError, match="source of plan must be"):
        plan(3)
    source = world(500)
    with pytest.raises(NotDefinedError, match="plan needs embeddings"):
        plan(source, embeddings=wn.observe(source, "mlp", wn.Recipe(epochs=1), 1, engine=Local(workers=1)))


def test_a_file_that_is_no_plan_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(json.dumps({"winnow": "study"}))
    with pytest.raises(StoreError, match=r"expected 'plan' in .*plan\.json; found 'study'"):
        Plan.load(tmp_path)
    (tmp_path / "plan.json").write_text(json.dumps({"winnow": "plan", "advice": []}))
    with pytest.raises(StoreError, match="found no entry 'keep'"):
        Plan.load(tmp_path)


@pytest.mark.parametrize(
    ("policy", "keep", "epochs", "said", "runs"),
    [
        ("hard", 0.6, 30, "", "tilted"),
        ("hard", 0.6, 1, "", "tilted"),
        ("hard", 0.01, 30, "", "medoids"),
        ("window", 0.6, 30, "", "tilted"),
        ("easy", 0.1, 30, " --method aum+rank --set policy=easy", "aum+rank"),
        ("random", 0.1, 30, " --method random", "random"),
    ],
)
def test_the_command_runs_what_was_advised(policy: str, keep: float, epochs: int, said: str, runs: str) -> None:
    source = world(3000)
    recipe = wn.Recipe(epochs=epochs)
    options = Options(source, "auto", "mlp", recipe, 3, 0.5, "data", 0, None)
    method, extra = options.chosen(policy)
    line = options.command(f"--keep {keep:g}", method, extra)
    assert line.startswith(f"winnow prune data --keep {keep:g}{said} --model mlp ")
    assert ("--method" in line) == bool(said)
    assert line.endswith("--match-iterations 0.5")
    parameters = {"policy": "easy"} if policy == "easy" else {}
    asked = request_of(requested(wn.prune, source, keep, method=method, model="mlp", recipe=recipe, **parameters))
    assert asked.method.name == runs
    assert (asked.pairs == 0) == bool(said)  # only the choice of auto is tried
    assert any("keeps other examples too" in words for words in options.caveats(policy)) == (not said)
