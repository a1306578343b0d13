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
from winnow.engines import Local
from winnow.planning import next_command as commanding
from winnow.planning import recommendation as advising
from winnow.planning.next_command import Options
from winnow.planning.pilot import parts
from winnow.planning.plan import plan
from winnow.planning.verdict import CARE, NOT, Forecaster
from winnow.pruning.prune import HELD_OUT
from winnow.sources.holdout import hold_out

DIMENSION = 40


@dataclasses.dataclass(frozen=True)
class Nothing:
    """Stands for resources, which have tests of their own."""

    seconds_observe: float = 1.0
    seconds_try: float = 2.0
    trainings: int = 1

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
    (check,) = clean.checks
    assert (check.policy, check.keep) == ("random", 1.0)
    assert abs(check.miss) < 0.03
    assert check.miss == pytest.approx(check.measured - check.forecast)
    assert clean.trust == CARE
    assert "the forecast is for a linear student, not for your network" in clean.reasons


def test_a_linear_student_forecasts_random_subsets_only(clean: Plan) -> None:
    assert {row.policy for row in clean.forecasts} == {"random"}
    assert clean.arms == ()
    assert clean.policy == "random"
    assert clean.method == "auto"
    assert clean.keep == clean.random_keep < 1
    best = next(row for row in clean.forecasts if row.keep == clean.keep)
    assert best.lost_high <= clean.tolerance  # the end of the interval, not its middle
    assert clean.expected == clean.random == best.accuracy
    assert clean.interval == (best.low, best.high)
    assert 0 <= best.low < best.accuracy < best.high <= 1


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
def test_label_noise_leaves_a_floor() -> None:
    made = plan(world(flipped=0.1))
    assert 0.05 < made.calibration["forms"]["floor"]["floor"] < 0.17


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
    parts = 2 + 2 + 4 + 2 + 8  # random parts; the candidate and random with soft targets at two fractions, twice each
    trainings = parts + 2  # the pool is observed, and once more to see how well two trainings agree
    assert whole.pilot["trainings"] == parts
    assert [(arm.policy, arm.keep, arm.method, len(arm.accuracies)) for arm in whole.arms] == [
        (policy, keep, "tilted", 2) for keep in (0.5, 0.25) for policy in ("soft random", "candidate")
    ]
    assert {row.policy for row in whole.forecasts} == {"random", "soft random", "auto"}
    assert any("Seeds of observation" in words for words in whole.remarks)
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
        assert (look.margins > 0).tolist() == look.correct.astype(bool).tolist()
    other = Counting()
    plan(source, out=tmp_path / "killed", engine=other, **{**PILOT, "tolerance": 0.05})
    assert other.done == 0  # another tolerance asks the same pilot


@pytest.mark.parametrize(
    ("task", "word", "method"),
    [
        ("regression", "the target is a number", "difficulty+tilted(uniform=0.5)"),
        ("unlabelled", "no labels", "medoids"),
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


@pytest.mark.usefixtures("few", "one_thread")
def test_a_named_method_is_trained_too_and_the_theory_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    made = plan(world(500), method="el2n+rank", tolerance=0.5, engine=Local(workers=1), **PILOT)
    assert {arm.policy for arm in made.arms} == {"soft random", "candidate", "el2n+rank"}
    assert (made.policy, made.keep) == ("el2n+rank", 0.25)
    assert "--method el2n+rank" in made.command
    assert any("el2n+rank measured" in words for words in made.remarks)
    monkeypatch.setattr(Forecaster, "hard_error", lambda self, size, keep: 0.99)
    other = plan(world(500), method="el2n+rank", tolerance=0.5, engine=Local(workers=1), **PILOT)
    same = ("advice", "keep", "forecasts", "trust", "reasons", "command")
    assert {name: values(other)[name] for name in same} == {name: values(made)[name] for name in same}
    assert other.remarks != made.remarks


@pytest.mark.usefixtures("few", "one_thread")
def test_a_plan_about_random_trains_nothing_else() -> None:
    made = plan(world(500), method="random", engine=Local(workers=1), **PILOT)
    assert made.arms == ()
    assert made.pilot["trainings"] == 2 + 2 + 4 + 2


@pytest.mark.usefixtures("few", "one_thread")
def test_what_a_proof_would_hold_out_has_no_part_in_the_pilot() -> None:
    source = world(500)
    _, tested = hold_out(source, HELD_OUT, 3)
    pool, held = parts(source, 240, 125, 3, own=True)
    assert not np.isin(tested.ids, [*pool.ids, *held.ids]).any()
    assert not np.isin(pool.ids, held.ids).any()
    assert (len(pool), len(held)) == (240, 125)


def test_the_command_runs_what_was_advised(tmp_path: Path) -> None:
    options = Options(world(300), "auto", "mlp", None, wn.Recipe(epochs=5), 3, 0.5, "data", 0, None, tmp_path / "a b")
    line = options.next(0.6, own=True)
    assert line == (
        f"winnow prune data --keep 0.6 --model mlp --epochs 5 --seeds 3 --match-iterations 0.5 --plan '{tmp_path}/a b'"
    )
    assert options.next(0.6, own=False).startswith("winnow plan data --pilot --model mlp")
    assert options.next(1.0, own=True) == ""
    by_name = dataclasses.replace(options, method="el2n", observer="mlp:width=8")
    assert by_name.next(0.6, own=True).startswith(
        "winnow prune data --keep 0.6 --method el2n --model mlp --observer mlp:"
    )
    assert "--plan" not in by_name.next(0.6, own=True)  # only what auto chose was tried
    assert options.caveats() == []
    assert "from Python" in dataclasses.replace(options, model=torch.nn.Linear(3, 2)).caveats()[0]


def test_a_cheaper_observer_is_priced_once_it_would_help(monkeypatch: pytest.MonkeyPatch) -> None:
    options = Options(world(300), "auto", "lenet5", None, wn.Recipe(epochs=5), 1, 0.0, "data", 0, None)
    asked: list[object] = []

    def cheap(source: wn.Source, **given: object) -> Nothing:
        asked.append(given["observer"])
        return Nothing(0.1, 0.2)

    monkeypatch.setattr(commanding, "estimate", cheap)
    assert "--observer mlp" in options.on_proxy(0.5, 10.0)[0]
    assert asked == ["mlp"]
    for changed in ({"model": "mlp:width=4"}, {"observer": "linear"}, {"method": "el2n"}):
        assert dataclasses.replace(options, **changed).on_proxy(0.5, 10.0) == []
    assert asked == ["mlp"]
