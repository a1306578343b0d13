from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import winnow as wn
from tests.signals.small import Counting, digits, rows
from winnow.artefacts import Outcome, Study
from winnow.artefacts.ledger import ledger
from winnow.artefacts.study import Arm
from winnow.core import registry
from winnow.core.errors import InputError, NotDefinedError, UnknownNameError
from winnow.core.units import GAP
from winnow.engines import Local
from winnow.planning import resources, run_files
from winnow.planning.pace import START, Pace
from winnow.planning.resources import TORCH, Resources, estimate

ONE = Local(workers=1)
TINY = wn.Recipe(epochs=2, batch=64)

# Trainings here are too short for scores to be reliable.
pytestmark = pytest.mark.filterwarnings("ignore:score .* is unreliable here")


def quick(source: wn.Source, method: str, **options: Any) -> Resources:
    """An estimate that times no network."""
    usual = {"model": "mlp", "recipe": TINY, "seeds": 2, "keep": 0.5, "engine": ONE, "seconds_per_example": 1e-3}
    return estimate(source, method=method, **{**usual, **options})


def part(found: Resources, name: str) -> float:
    return dict(found.parts)[name]


def image(n: int, side: int = 4) -> wn.Source:
    """Examples that are told apart by their ids and all look alike: nothing here looks at them."""
    return wn.artefacts.Source(
        "blank",
        lambda positions: np.zeros((len(positions), 1, side, side), dtype=np.uint8),
        n,
        (1, side, side),
        "image",
        "classification",
        np.arange(n) % 2,
        ("no", "yes"),
        np.arange(n),
    )


def stored(run: Path) -> tuple[int, int]:
    """Bytes of the signals and of the networks in a run."""
    sizes = {file: file.stat().st_size for file in run.rglob("*.safetensors")}
    networks = sum(size for file, size in sizes.items() if file.parent.name == "networks")
    return sum(sizes.values()) - networks, networks


@pytest.mark.parametrize(
    ("method", "task"),
    [
        ("el2n", "classification"),
        ("aum+strata", "classification"),
        ("graph", "classification"),
        ("kcenter", "classification"),
        ("grand", "classification"),
        ("lpntk_redundancy", "classification"),
        ("memorization", "classification"),
        ("random", "classification"),
        ("auto", "classification"),
        ("auto", "regression"),
        ("difficulty+strata", "regression"),
        ("prototype", "regression"),
        ("prototype+strata", "unlabelled"),
    ],
)
def test_disk_is_what_a_real_run_writes(method: str, task: str, tmp_path: Path) -> None:
    source = wn.open("digits") if task == "classification" else rows(1500, task)
    asked = {"model": "auto" if task == "unlabelled" else "mlp", "recipe": TINY, "seeds": 3, "engine": ONE}
    wn.prune(source, 0.3, method=method, out=tmp_path / "run", **asked)
    written = sum(file.stat().st_size for file in (tmp_path / "run").rglob("*") if file.is_file())
    found = quick(source, method, keep=0.3, **asked)
    assert found.disk_bytes == pytest.approx(written, rel=0.25)
    signals, networks = stored(tmp_path / "run")
    assert part(found, "disk: signals") == pytest.approx(signals, rel=0.03, abs=1)
    assert part(found, "disk: networks") == pytest.approx(networks, rel=0.03, abs=1)


def test_class_names_and_epochs_are_in_every_signals_file(tmp_path: Path) -> None:
    many = dataclasses.replace(image(300), labels=np.arange(300) % 100, classes=tuple(f"kind {k}" for k in range(100)))
    asked = {"model": "mlp", "recipe": wn.Recipe(epochs=40, batch=300), "seeds": 2, "engine": ONE}
    wn.prune(many, 0.5, method="el2n", out=tmp_path, **asked)
    signals, _ = stored(tmp_path)
    assert part(quick(many, "el2n", **asked), "disk: signals") == pytest.approx(signals, abs=2 * 50)


def test_a_small_run_is_mostly_what_it_says_about_itself(tmp_path: Path) -> None:
    source, asked = digits(40), {"model": "mlp", "recipe": TINY, "seeds": 2, "engine": ONE}
    wn.prune(source, 0.5, method="el2n", out=tmp_path, **asked)
    found = quick(source, "el2n", **asked)
    for name, files in (("scores", "scores/*"), ("subset", "subset.parquet"), ("records", "**/*.json")):
        written = sum(file.stat().st_size for file in tmp_path.glob(files))
        assert part(found, f"disk: {name}") == pytest.approx(written, rel=0.25)


def test_columns_by_hand() -> None:
    """Numbers of 8 bytes and a place in the dictionary for each row; beyond 1 MB the rows hold the numbers."""
    small, large = (quick(image(n), "el2n") for n in (32, 200_000))
    notes = run_files.TABLE + run_files.ORIGIN
    # Ids and scores, all different: 32 numbers and 32 places of 5 bits each. Two labels: 1 bit.
    assert part(small, "disk: scores") == pytest.approx(2 * (32 * 8 + 32 * 5 / 8) + 2 * 8 + 32 / 8 + notes)
    full = 200_000 * 8 + 2**20 / 8 * 18 / 8
    assert part(large, "disk: scores") == pytest.approx(2 * full + 2 * 8 + 200_000 / 8 + notes)
    # The subset: 16 ids and 16 places of 4 bits, where scores and signals came from, and "no", "yes" with quotes.
    names = len("noyes") + 2 * 6
    assert part(small, "disk: subset") == pytest.approx(16 * 8 + 16 / 2 + notes + run_files.ORIGIN + names)
    one = quick(image(32), "el2n", seeds=1)  # one file of signals is an origin as two are
    assert part(one, "disk: subset") == part(small, "disk: subset")
    # A random subset has no scores and no signals.
    alone = part(quick(image(32), "random"), "disk: subset")
    assert alone == pytest.approx(16 * 8 + 16 / 2 + run_files.TABLE + names)
    assert isinstance(small.disk_bytes, int)
    assert isinstance(small.memory_bytes, int)


def test_soft_targets_and_trainings_of_the_veto_take_disk() -> None:
    """Two classes in half precision, 16 rows each: 2 bytes and a place of 4 bits; six results of two classes."""
    found = quick(image(32), "auto", keep=0.5)
    soft = 2 * (16 * 2 + 16 / 2 + run_files.COLUMN) + run_files.ORIGIN + len("noyes") + 2 * 6
    assert part(found, "disk: soft targets") == pytest.approx(soft)
    tried = run_files.RESULT + 2 * run_files.PER_CLASS + run_files.RECORD
    assert found.tried > 0
    assert part(found, "disk: veto") == found.tried * tried
    plain = quick(image(32), "el2n")
    assert part(plain, "disk: soft targets") == part(plain, "disk: veto") == 0


def test_a_cheaper_observer_observes_and_tries_and_does_not_train() -> None:
    source = rows(600)
    asked = {"recipe": wn.Recipe(epochs=3, batch=50), "keep": 0.5}
    usual = quick(source, "auto", **asked)  # 1 ms per example: slow
    cheap = quick(source, "auto", observer="mlp", **asked)  # timed, and far quicker
    assert cheap.seconds_observe < usual.seconds_observe
    assert cheap.seconds_try < usual.seconds_try
    assert (cheap.seconds_train_full, cheap.seconds_train_subset) == pytest.approx(
        (usual.seconds_train_full, usual.seconds_train_subset)
    )


def test_seconds_of_recorded_outputs_by_hand() -> None:
    source = rows(100)
    found = quick(source, "el2n", seeds=3, recipe=wn.Recipe(epochs=6, batch=10), keep=0.2)
    # 3 trainings of 6 epochs of 100 examples at 1 ms; what is recorded there costs no pass of its own
    assert part(found, "time: training, all jobs") == pytest.approx(1.8)
    assert "time: recording, all jobs" not in dict(found.parts)
    assert found.seconds_observe == pytest.approx(1.8)
    assert found.seconds_select == 0
    assert (found.trainings, found.workers, found.kept, found.examples) == (3, 1, 20, 100)
    assert found.seconds_train_full == pytest.approx(0.6)
    assert found.seconds_train_subset == pytest.approx(0.12)
    assert found.pays_after == 4  # 1.8 / (0.6 - 0.12)
    assert found.seconds_per_example == 1e-3


@pytest.mark.parametrize(
    ("method", "trainings", "seconds"),
    [
        # 100 examples, 6 epochs, 3 seeds, 1 ms a step, 1/3 ms a look, 3 ms a gradient
        ("class_prototype", 2, 2 * 0.6 + 2 * 0.1 / 3),
        ("grand", 3, 3 * 0.6 + 3 * 0.3),
        ("contradiction", 3, 3 * 0.6 + 3 * 0.3),
        ("memorization", 10, 10 * (0.7 * 0.6 + 0.1 / 3)),
        ("aum+graph", 3, 3 * 0.6 + 2 * 0.1 / 3),
        ("random", 0, 0.0),
    ],
)
def test_seconds_of_other_needs_by_hand(method: str, trainings: int, seconds: float) -> None:
    found = quick(rows(100), method, seeds=3, recipe=wn.Recipe(epochs=6, batch=10))
    assert found.trainings == trainings
    assert found.seconds_observe == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("method", "task", "seconds"),
    [
        # 100 examples, 6 epochs, 3 seeds; 1 ms a step, 0.2 ms a look, 0.5 ms embedding it, 10 ms reading one
        ("el2n", "classification", 3 * (1.0 + 0.6)),  # dynamics are recorded from the training pass itself
        ("kcenter", "classification", 2 * (1.0 + 0.6 + 0.05)),
        ("aum+graph", "classification", 3 * (1.0 + 0.6) + 2 * 0.05),  # read once, though embedded too
        ("memorization", "classification", 10 * (1.7 + 0.7 * 0.6 + 0.02)),  # to train on 0.7, to evaluate on all
        ("prototype", "unlabelled", 1.0 + 0.05),
        ("random", "classification", 0.0),
    ],
)
def test_reading_counts_once_per_job(method: str, task: str, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "measured", lambda _: Pace(1e-3, 2e-4, {"embeddings": 5e-4}, 1e-2))
    asked = {"model": "auto"} if task == "unlabelled" else {"recipe": wn.Recipe(epochs=6, batch=10)}
    found = quick(rows(100, task), method, seeds=3, seconds_per_example=None, **asked)
    assert found.seconds_observe == pytest.approx(seconds)


def test_a_signal_of_the_data_alone_costs_one_pass_and_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("signal", "score"):
        monkeypatch.setitem(registry._known, kind, dict(registry._filled(kind)))

    @registry.signal(arrays={"sizes": ("examples",)}, when="data")
    def sizes(look: Any) -> dict[str, Any]:
        return {"sizes": np.arange(len(look.feed), dtype=np.float32)}

    @registry.score(needs={"sizes"}, paper="a test")
    def size(signals: wn.Signals) -> Any:
        return signals.array("sizes").astype(np.float64)

    monkeypatch.setattr(resources, "measured", lambda _: Pace(1e-3, 2e-4, {"sizes": 5e-4}, 1e-2))
    found = quick(rows(100), "size", seeds=3, seconds_per_example=None)
    assert found.trainings == 0
    assert found.seconds_observe == pytest.approx(1.0 + 0.05)
    wn.prune(rows(100), 0.5, method="size", model="mlp", recipe=TINY, engine=ONE, out=tmp_path)
    (file,) = tmp_path.rglob("*.safetensors")
    assert part(found, "disk: signals") == pytest.approx(file.stat().st_size, abs=200)


def test_trainings_are_counted_as_observe_makes_them() -> None:
    source = digits(60)
    for method in ("el2n", "grand", "memorization", "kcenter", "aum+graph"):
        engine = Counting()
        wn.prune(source, 0.5, method=method, model="mlp", recipe=wn.Recipe(epochs=1), seeds=3, engine=engine)
        assert quick(source, method, seeds=3, engine=engine).trainings == engine.done


def test_workers_share_the_jobs_but_the_ledger_counts_them_all() -> None:
    source, recipe = rows(100), wn.Recipe(epochs=60, batch=10)  # enough for workers to be worth starting
    alone = quick(source, "el2n", seeds=3, recipe=recipe)
    two, many = (quick(source, "el2n", seeds=3, recipe=recipe, engine=Local(workers=k)) for k in (2, 50))
    begun = two.seconds_observe - alone.seconds_observe * 2 / 3  # three jobs on two workers are two rounds
    assert begun > 0
    assert many.seconds_observe == pytest.approx(begun + alone.seconds_observe / 3)
    assert (two.workers, many.workers) == (2, 3)
    assert two.pays_after == many.pays_after == alone.pays_after
    assert quick(source, "memorization", engine=Local(workers=50)).workers == 10
    assert quick(source, "random", engine=Local(workers=50)).workers == 1


@pytest.mark.parametrize("factor", [0.0, 0.3, 1.0])
def test_training_on_the_subset_matches_iterations(factor: float) -> None:
    recipe = wn.Recipe(epochs=4, batch=32)
    found = quick(rows(1000), "el2n", recipe=recipe, keep=0.1, match_iterations=factor)
    steps = recipe.matched_steps(100, 1000, factor)
    assert found.seconds_train_subset == pytest.approx(steps * (100 / 4) * 1e-3)  # 32, 32, 32 and 4 examples


@pytest.mark.parametrize("first", ["grand", "memorization", "el2n", "random", "class_prototype"])
def test_any_score_may_be_joined_to_a_selector_by_embeddings(first: str) -> None:
    found = quick(rows(200), f"{first}+graph")
    assert found.seconds_select > 0
    assert found.trainings == (12 if first == "memorization" else 2)


def test_payback_is_the_ledgers() -> None:
    source = rows(200)
    for keep, factor in ((0.1, 0.0), (0.5, 0.0), (0.95, 0.0), (0.5, 1.0), (1.0, 0.0)):
        found = quick(source, "el2n", keep=keep, match_iterations=factor, recipe=wn.Recipe(epochs=4, batch=8))
        arms = (
            Arm("full", "full", 200, 1.0),
            Arm("ours", "subset", found.kept, keep, selection={"observe": found.seconds_observe}),
        )
        seconds = {"full": found.seconds_train_full, "ours": found.seconds_train_subset}
        outcomes = tuple(Outcome(arm, 0, "test", 0.9, 0.1, (), 1, cost) for arm, cost in seconds.items())
        row = ledger(Study("accuracy", arms, outcomes, ("test",), ())).rows[0]
        assert found.pays_after == row["pays_after"]
    assert found.pays_after is None


@pytest.mark.parametrize("method", ["el2n", "grand", "memorization", "class_prototype"])
def test_twice_the_examples_twice_the_bytes(method: str) -> None:
    small, large = (quick(image(n), method) for n in (400_000, 800_000))
    assert large.disk_bytes == pytest.approx(2 * small.disk_bytes, rel=0.03)
    assert large.seconds_observe == pytest.approx(2 * small.seconds_observe)
    stages = {name: value for name, value in small.parts if name.startswith("memory")}
    for name, bytes_ in stages.items():
        if method != "grand" or name != "memory: observing":  # gradients come in chunks of their own size
            assert part(large, name) - TORCH == pytest.approx(2 * (bytes_ - TORCH), rel=0.1)


def test_twice_the_seeds() -> None:
    few, more = (quick(image(100_000), "el2n", seeds=seeds) for seeds in (2, 4))
    assert part(more, "disk: signals") == pytest.approx(2 * part(few, "disk: signals"))
    assert more.seconds_observe == pytest.approx(2 * few.seconds_observe)
    assert more.seconds_train_full == few.seconds_train_full
    # embeddings are those of two networks, however many seeds
    assert quick(image(1000), "kcenter", seeds=2).trainings == quick(image(1000), "kcenter", seeds=8).trainings == 2


N = 1000
EXAMPLES, NAMES = 16 * N, 16 * N  # bytes of 4 x 4 pixels; of an id and a label
BATCH = 16 * 34 + 8 * 64 * 18  # 34 weights with gradients and moments; 18 outputs of 64 examples, there and back
GRADIENTS = 12 * (256 * (34 + 18) + 34)  # of a chunk of 256 examples, in three copies


@pytest.mark.parametrize(
    ("method", "signals", "job", "copies"),
    [
        # Three numbers of 2 bytes in 2 epochs, for both seeds; of the epoch under way, four of 4 bytes and one of 1
        ("el2n", 2 * 12 * N, EXAMPLES + 2.25 * 12 * N + 17 * N + BATCH, 0),
        ("grand", 2 * 4 * N, EXAMPLES + GRADIENTS, 0),
        # 10 models; each has the 0.7 of the examples that it is trained on twice, and all of them once
        ("memorization", 10 * 2 * N, 2.4 * EXAMPLES + BATCH, 0),
        # 16 numbers of 4 bytes from both seeds, of which one is chosen by: 9 copies, and blocks of distances
        ("aum+graph", 2 * 12 * N + 2 * 64 * N, EXAMPLES + 2.25 * 12 * N + 17 * N + BATCH, 9 * 64 * N + (128 << 20)),
        ("kcenter", 2 * 64 * N, EXAMPLES + BATCH, 4 * 64 * N),
    ],
)
def test_memory_by_hand(method: str, signals: float, job: float, copies: float) -> None:
    import torch

    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 2))
    alone, two = (quick(image(N), method, model=network, engine=Local(workers=k)) for k in (1, 2))
    job += 6 * NAMES
    assert part(alone, "memory: observing") == pytest.approx(TORCH + EXAMPLES + signals + job, abs=2)
    assert part(alone, "memory: joining seeds") == pytest.approx(TORCH + EXAMPLES + 3 * signals + 6 * NAMES, abs=2)
    assert part(alone, "memory: scoring and selecting") == pytest.approx(
        TORCH + 4 * signals + 8 * NAMES + copies, abs=2
    )
    # Every worker has its job, and the examples are in one more copy on their way to them.
    idle = TORCH + 2 * resources.WORKER
    assert part(two, "memory: observing") == pytest.approx(idle + 2 * EXAMPLES + signals + 2 * job, abs=2)


def test_examples_beyond_the_budget_are_not_held() -> None:
    source = dataclasses.replace(image(1000), read=lambda p: np.zeros((len(p), 1, 4, 4), dtype=np.uint8))
    base = part(quick(source, "el2n"), "memory: observing")
    held = part(quick(image(1_000_000, side=32), "el2n"), "memory: observing")  # 1 GB of examples, twice
    read = part(quick(image(1_000_000, side=64), "el2n"), "memory: observing")  # 4 GB: over the budget of 2 GB
    assert held - base > 2 * 1_000_000 * 32 * 32
    assert read < held


def test_parts_add_up() -> None:
    found = quick(digits(200), "el2n")
    of = {kind: [value for name, value in found.parts if name.startswith(kind)] for kind in ("memory", "disk")}
    assert sum(of["disk"]) == pytest.approx(found.disk_bytes, abs=1)
    assert max(of["memory"]) == pytest.approx(found.memory_bytes, abs=1)
    assert part(found, "time: observe") == found.seconds_observe


@pytest.mark.parametrize("method", ["kcenter", "herding", "moderate", "graph", "prototype"])
def test_choosing_by_embeddings_is_timed_and_paid_back(method: str) -> None:
    found = quick(image(3000), method)
    assert found.seconds_select == part(found, "time: select") > 0
    jobs = sum(value for name, value in found.parts if name.endswith(", all jobs"))
    saved = found.seconds_train_full - found.seconds_train_subset
    assert found.pays_after == math.ceil((jobs + found.seconds_select) / saved)


def test_measured_on_the_real_network() -> None:
    for task in ("classification", "regression"):
        found = estimate(rows(300, task), method="grand", recipe=TINY, seeds=1, keep=0.5, engine=ONE)
        assert found.seconds_per_example > 0
        named = dict(found.parts)
        assert named["time: training, all jobs"] == pytest.approx(2 * 300 * found.seconds_per_example)
        assert named["time: gradients, all jobs"] > 0
        assert found.seconds_train_full == pytest.approx(2 * found.seconds_train_subset)


def test_measuring_leaves_a_given_network_alone() -> None:
    import torch

    network = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    before = [p.detach().clone() for p in network.parameters()]
    state = torch.random.get_rng_state()
    estimate(rows(50), method="el2n", model=network, recipe=TINY, seeds=1, keep=0.5, engine=ONE)
    assert all(torch.equal(old, new) for old, new in zip(before, network.parameters(), strict=True))
    assert torch.equal(state, torch.random.get_rng_state())


def test_a_network_of_ones_own_need_have_no_linear_layer() -> None:
    import torch

    class Products(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(4, 2))

        def reset_parameters(self) -> None:
            torch.nn.init.normal_(self.weight)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x @ self.weight

    assert quick(rows(50), "el2n", model=Products()).trainings == 2
    assert quick(rows(50), "kcenter", model=Products()).trainings == 2  # its output is what is taken


def test_without_labels_nothing_is_trained() -> None:
    import torch

    source = rows(200, "unlabelled")
    for model in ("auto", "mlp", torch.nn.Linear(4, 3)):
        found = estimate(source, method="prototype", model=model, keep=0.5)
        assert found.trainings == 0
        assert found.seconds_observe >= 0
        assert found.pays_after is None
        assert all(map(math.isnan, (found.seconds_train_full, found.seconds_train_subset, found.seconds_per_example)))
        assert "Without labels" in " ".join(found.sentences())
    assert estimate(source, method="random", keep=0.5).seconds_observe == 0


def test_sentences_are_for_people() -> None:
    text = quick(image(100_000, side=32), "el2n", seeds=3).sentences()
    assert text[0].startswith("Finding 50,000 of 100,000 examples with el2n takes 3 trainings: about")
    assert "instead of" in text[1]
    assert text[2] == "Selection pays off after 6 trainings."  # 3 trainings, to save half of one each time
    assert all(word in " ".join(text) for word in ("Peak memory: about", "GB.", "MB in the run directory"))
    alone, two = (quick(rows(100), "el2n", seeds=k, engine=Local(workers=2)).sentences()[0] for k in (1, 3))
    assert "with el2n takes 1 training: about" in alone
    assert "with el2n takes 3 trainings, 2 at a time: about" in two
    assert "Selection pays off after 1 training." in quick(rows(100), "random").sentences()
    assert "never pays off" in quick(rows(100), "el2n", keep=1.0).sentences()[2]
    assert "needs no training" in quick(rows(100), "random").sentences()[0]


def test_auto_becomes_a_name() -> None:
    assert quick(rows(100), "auto", keep=0.3).method == "medoids"
    assert quick(rows(1000), "auto", keep=0.3).method == "tilted"


def test_what_auto_tries_by_hand() -> None:
    recipe = wn.Recipe(epochs=6, batch=10)
    found = quick(rows(1000), "auto", seeds=1, recipe=recipe, keep=0.25)
    # Three pairs of 5 epochs of a quarter of 800 at 1 ms, and a look at the 200 held out: about one full training.
    assert found.tried == 6
    assert found.seconds_try == pytest.approx(6 * (5 * 0.2 + 0.2 / 3))
    assert found.seconds_observe == pytest.approx(6.0)
    assert found.pays_after == math.ceil((6.0 + found.seconds_try + found.seconds_select) / 4.5)
    assert any(f"takes 6 short trainings: about 6.4{GAP}s." in sentence for sentence in found.sentences())
    named = quick(rows(1000), "tilted", seeds=1, recipe=recipe, keep=0.25)
    assert (named.tried, named.seconds_try) == (0, 0.0)
    assert not any("Trying" in sentence for sentence in named.sentences())
    # So little is done in this process; of more, both of a pair are trained at once, once the workers have started.
    two = quick(rows(1000), "auto", seeds=1, recipe=recipe, keep=0.25, engine=Local(workers=2))
    assert two.seconds_try == found.seconds_try
    longer = {"seeds": 1, "recipe": wn.Recipe(epochs=60, batch=10), "keep": 0.25}
    alone, pair = (quick(rows(1000), "auto", **longer, engine=Local(workers=count)) for count in (1, 2))
    assert pair.seconds_try == pytest.approx(alone.seconds_try / 2 + START)
    matched = quick(rows(1000), "auto", seeds=1, recipe=recipe, keep=0.25, match_iterations=1.0)
    assert matched.seconds_try == pytest.approx(6 * (3 * 0.8 + 0.2 / 3))
    assert quick(rows(100, "unlabelled"), "auto", model="auto").tried == 0


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_trainings_of_auto_are_counted_as_prune_makes_them(task: str, tmp_path: Path) -> None:
    source, engine = (digits(300) if task == "classification" else rows(300, task)), Counting()
    asked = {"model": "mlp", "recipe": TINY, "seeds": 1, "engine": engine}
    wn.prune(source, 0.5, out=tmp_path, **asked)
    found = quick(source, "auto", **asked)
    assert found.trainings + found.tried == engine.done
    signals = sum(file.stat().st_size for file in tmp_path.rglob("signals/*.safetensors"))
    assert part(found, "disk: signals") == pytest.approx(signals, rel=0.03)  # with predictions, for soft targets


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        ({"method": "el3n"}, UnknownNameError, "unknown method 'el3n'.*nearest: 'el2n'"),
        ({"method": "el2n+kcentre"}, UnknownNameError, "kcenter"),
        ({"keep": 0.0}, InputError, r"keep of estimate must be a number in \(0, 1\]; got 0"),
        ({"keep": math.nan}, InputError, "keep of estimate"),
        ({"keep": "half"}, InputError, "keep of estimate"),
        ({"seeds": 0}, InputError, "seeds of estimate"),
        ({"match_iterations": 2}, InputError, "match_iterations of estimate"),
        ({"seconds_per_example": 0.0}, InputError, "seconds_per_example of estimate"),
        ({"recipe": 3}, InputError, "recipe of estimate"),
        ({"engine": "fast"}, UnknownNameError, "engine of estimate .fast."),
        ({"model": "mlpp"}, UnknownNameError, "network 'mlpp'"),
        ({"source": [1, 2]}, InputError, "source of estimate"),
        ({"source": rows(40, "regression")}, NotDefinedError, "el2n"),
    ],
)
def test_refusals(change: dict[str, Any], kind: type[Exception], words: str) -> None:
    asked = {"source": rows(40), "method": "el2n", **change}
    with pytest.raises(kind, match=words):
        quick(**asked)
