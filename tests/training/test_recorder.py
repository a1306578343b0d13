from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import winnow as wn
from winnow.core.errors import StoreError, WinnowError
from winnow.training.epoch_measures import CHUNK
from winnow.training.recorder import eval_pass

N, K, EPOCHS = 23, 4, 3
RNG = np.random.default_rng(0)
LOGITS = (RNG.normal(size=(EPOCHS, N, K)) * 5).astype(np.float32)
TARGETS = RNG.integers(0, K, N)


def filled(batch: int = 5, epochs: int = EPOCHS, **options: object) -> wn.Recorder:
    rec = wn.Recorder(N, K, **options)
    for epoch in range(epochs):
        order = np.random.default_rng(epoch).permutation(N)
        for start in range(0, N, batch):
            where = order[start : start + batch]
            rec.log(where, LOGITS[epoch][where], TARGETS[where])
        rec.end_epoch()
    return rec


def slow_losses() -> NDArray[np.float64]:
    """Cross-entropy spelt out, an example at a time."""
    out = np.zeros((EPOCHS, N))
    for epoch in range(EPOCHS):
        for i in range(N):
            z = [float(value) for value in LOGITS[epoch, i]]
            out[epoch, i] = math.log(sum(math.exp(value) for value in z)) - z[TARGETS[i]]
    return out


@pytest.mark.parametrize("batch", [1, 5, N])
def test_signals_hold_what_was_logged(batch: int) -> None:
    rec = filled(batch)
    sig = rec.signals()
    assert np.array_equal(sig.logits, LOGITS[None])
    assert sig.logits.dtype == np.float32
    assert np.allclose(sig.losses[0], slow_losses(), rtol=1e-6, atol=1e-7)
    assert np.array_equal(sig.labels, TARGETS)
    assert np.array_equal(rec.correct, LOGITS.argmax(2) == TARGETS)
    assert (sig.epochs, sig.planned_epochs, sig.seeds) == ((1, 2, 3), 3, 1)
    assert np.array_equal(sig.ids, np.arange(N))
    assert sig.classes == ("0", "1", "2", "3")
    assert sig.provenance["step"] == "record"
    assert sig.provenance["parameters"]["epochs"] == 3


def test_ids_and_plan_are_passed_on() -> None:
    names = [f"img{i}" for i in range(N)]
    sig = filled(ids=names, planned_epochs=30).signals()
    assert sig.ids.tolist() == names
    assert sig.planned_epochs == 30
    assert filled(planned_epochs=1).signals().planned_epochs == 3


def test_several_seeds_are_stacked() -> None:
    one = filled().signals()
    assert wn.Signals.stack([one, one], {}).logits.shape == (2, EPOCHS, N, K)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_tensors_of_any_float_type_with_gradients(dtype: torch.dtype) -> None:
    rec = wn.Recorder(N, K)
    logits = torch.tensor(LOGITS[0], dtype=dtype, requires_grad=True)
    rec.log(torch.arange(N), logits, torch.tensor(TARGETS))
    rec.end_epoch()
    assert np.array_equal(rec.signals().logits[0, 0], logits.detach().float().numpy())


def test_the_recorder_keeps_its_own_copy() -> None:
    rec = wn.Recorder(N, K)
    logits = torch.tensor(LOGITS[0])
    rec.log(torch.arange(N), logits, torch.tensor(TARGETS))
    logits.zero_()
    rec.end_epoch()
    first = rec.signals().logits.copy()
    rec.log(np.arange(N), LOGITS[1], TARGETS)
    rec.end_epoch()
    assert np.array_equal(first[0, 0], LOGITS[0])
    assert np.array_equal(rec.signals().logits[0], LOGITS[:2])


def test_losses_are_stable_for_huge_logits() -> None:
    rec = wn.Recorder(2, 2)
    rec.log([0, 1], [[1e30, -1e30], [1000.0, 0.0]], [0, 1])
    rec.end_epoch()
    assert rec.signals().losses[0, 0].tolist() == [0.0, 1000.0]


def test_losses_do_not_depend_on_the_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = filled().signals().losses
    monkeypatch.setattr("winnow.training.current_epoch.CHUNK", 3 * K)
    assert np.array_equal(filled().signals().losses, whole)


def test_of_two_logs_in_an_epoch_the_last_counts() -> None:
    rec = wn.Recorder(N, K)
    rec.log(np.arange(N), LOGITS[0], TARGETS)
    rec.log([3], LOGITS[1][[3]], TARGETS[[3]])
    rec.end_epoch()
    assert np.array_equal(rec.signals().logits[0, 0, 3], LOGITS[1][3])


def test_carry_keeps_the_epoch_before() -> None:
    rec = filled(epochs=1, missing="carry")
    rec.log([2], LOGITS[1][[2]], TARGETS[[2]])
    rec.end_epoch()
    expected = LOGITS[0].copy()
    expected[2] = LOGITS[1][2]
    assert np.array_equal(rec.signals().logits[0, 1], expected)


@pytest.mark.parametrize("outputs", [1, 3])
def test_regression_keeps_squared_errors_alone(outputs: int) -> None:
    rng = np.random.default_rng(1)
    targets, guesses = rng.normal(size=(N, outputs)), rng.normal(size=(2, N, outputs)).astype(np.float32)
    rec = wn.Recorder(N, outputs, task="regression", missing="carry")
    for epoch in range(2):
        rec.log(np.arange(N - epoch), guesses[epoch, : N - epoch], targets[: N - epoch])
        rec.end_epoch()
    sig = rec.signals()
    guesses[1, -1] = guesses[0, -1]
    assert "logits" not in sig
    assert np.allclose(sig.losses[0], np.square(guesses - targets).mean(2), rtol=1e-6)
    assert sig.labels.shape == ((N,) if outputs == 1 else (N, outputs))
    assert sig.task == "regression"


def test_regression_takes_vectors() -> None:
    rec = wn.Recorder(2, 1, task="regression")
    rec.log([1, 0], torch.tensor([1.0, 2.0]), torch.tensor([0.0, 0.0]))
    rec.end_epoch()
    assert rec.signals().losses[0, 0].tolist() == [4.0, 1.0]


@pytest.mark.parametrize("as_tensors", [False, True])
@pytest.mark.parametrize("finished", [0, 1, 2])
def test_a_loop_resumes_in_the_middle_of_an_epoch(finished: int, as_tensors: bool) -> None:
    rec = filled(epochs=finished)
    half = np.arange(10)
    rec.log(half, LOGITS[finished][half], TARGETS[half])
    state = rec.state_dict()
    assert all(isinstance(value, np.ndarray) for value in state.values())
    twin = wn.Recorder(N, K)
    twin.load_state_dict({k: torch.from_numpy(v) for k, v in state.items()} if as_tensors else state)
    rest = np.arange(10, N)
    for each in (rec, twin):
        each.log(rest, LOGITS[finished][rest], TARGETS[rest])
        each.end_epoch()
    assert twin.signals().fingerprint == rec.signals().fingerprint
    assert np.array_equal(twin.correct, rec.correct)


def test_a_regression_resumes_with_carry() -> None:
    def step(rec: wn.Recorder, upto: int) -> None:
        rec.log(np.arange(upto), np.arange(upto, dtype=float), np.zeros(upto))
        rec.end_epoch()

    rec, twin = (wn.Recorder(4, 1, task="regression", missing="carry") for _ in range(2))
    step(rec, 4)
    step(rec, 3)
    twin.load_state_dict(rec.state_dict())
    step(twin, 2)
    assert twin.signals().losses[0].tolist() == [[0, 1, 4, 9]] * 3


def test_a_state_keeps_an_overflow_of_the_epoch_under_way() -> None:
    rec, twin, older = (wn.Recorder(3, 1, task="regression") for _ in range(3))
    rec.log([0, 1], [0.0, 1e30], [0.0, 0.0])
    state = rec.state_dict()
    twin.load_state_dict(state)
    for each in (rec, twin):
        each.log([2], [0.0], [0.0])
        with pytest.raises(wn.errors.InputError, match="in epoch 1 that of position 1 is too large"):
            each.end_epoch()
    older.load_state_dict({name: value for name, value in state.items() if name != "infinite"})  # written before
    assert older.epochs == 0


def test_a_pass_changes_neither_modes_nor_random_numbers() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, K), torch.nn.Dropout(0.5)).train()
    data = torch.utils.data.TensorDataset(torch.randn(N, 3), torch.tensor(TARGETS))
    state = torch.get_rng_state()
    recorders = [wn.Recorder(N, K) for _ in range(2)]
    for rec, batch in zip(recorders, (4, 100), strict=True):
        eval_pass(rec, model, data, batch=batch, forward=lambda pair: (model(pair[0]), pair[1]))
    assert torch.equal(torch.get_rng_state(), state)
    assert model[1].training
    assert np.allclose(recorders[0].signals().logits, recorders[1].signals().logits, atol=1e-6)
    assert np.allclose(recorders[0].signals().logits[0, 0], model[0](data.tensors[0]).detach().numpy(), atol=1e-6)


def log(positions: object, logits: object, targets: object, **options: object) -> Callable[[], object]:
    return lambda: wn.Recorder(N, K, **options).log(positions, logits, targets)


def regress(guesses: object, targets: object) -> Callable[[], object]:
    def run() -> None:
        rec = wn.Recorder(2, 1, task="regression")
        rec.log([0, 1], guesses, targets)
        rec.end_epoch()
        _ = rec.correct

    return run


def then(rec: Callable[[], wn.Recorder], call: Callable[[wn.Recorder], object]) -> Callable[[], object]:
    return lambda: call(rec())


def part(**options: object) -> Callable[[], wn.Recorder]:
    def make() -> wn.Recorder:
        rec = wn.Recorder(N, K, **options)
        rec.log([0, 1, 2], LOGITS[0][:3], TARGETS[:3])
        return rec

    return make


def empty() -> wn.Recorder:
    return wn.Recorder(N, K)


def passed(rec: wn.Recorder, dataset: object) -> None:
    eval_pass(rec, torch.nn.Identity(), dataset, forward=lambda batch: batch)


NAN = np.where(np.arange(K) == 1, np.nan, np.zeros((2, K)))
TWO = np.zeros((2, K))
CASES: list[tuple[str, Callable[[], object], str]] = [
    ("no examples", lambda: wn.Recorder(0, K), "n of Recorder must be a whole number of at least 1; got 0"),
    ("one class", lambda: wn.Recorder(N, 1), "classes of Recorder must be a whole number of at least 2; got 1"),
    ("unknown task", lambda: wn.Recorder(N, K, task="ranking"), "task of Recorder"),
    ("unknown missing", lambda: wn.Recorder(N, K, missing="cary"), "(nearest: 'carry')"),
    ("no plan", lambda: wn.Recorder(N, K, planned_epochs=0), "planned_epochs of Recorder"),
    ("too few ids", lambda: wn.Recorder(N, K, ids=[1, 2]), f"must have {N} entries, one per example; got 2"),
    ("ids twice", lambda: wn.Recorder(2, K, ids=[1, 1]), "ids of Recorder must be unique"),
    ("position too large", log([0, N], TWO, [0, 0]), f"positions of Recorder.log must be from 0 to {N - 1}; got {N}"),
    ("position negative", log([-1, 0], TWO, [0, 0]), "got -1"),
    ("position twice", log([7, 7], TWO, [0, 0]), "must not repeat within a batch; 7 does"),
    ("positions of floats", log([0.0, 1.0], TWO, [0, 0]), "vector of whole numbers; got float64"),
    ("no positions", log([], np.zeros((0, K)), []), "positions of Recorder.log must be a non-empty vector"),
    ("other classes", log([0, 1], np.zeros((2, 3)), [0, 0]), f"shape (2, {K}), one row per position; got float64"),
    ("other rows", log([0, 1], np.zeros((3, K)), [0, 0]), f"shape (2, {K})"),
    ("logits of text", log([0], [["a"] * K], [0]), "must be numbers of shape"),
    ("ragged logits", log([0, 1], [[1, 2], [3]], [0, 0]), "got a ragged list"),
    ("NaN logits", log([5, 9], NAN, [0, 0]), "in epoch 1 those of position 5 are NaN or infinite"),
    ("NaN tensor", log([5, 9], torch.tensor(NAN[::-1].copy()), [0, 0]), "in epoch 1 those of position 5"),
    ("logits beyond float32", log([4], np.full((1, K), 1e300), [0]), "position 4 are NaN or infinite"),
    ("NaN in epoch 4", then(filled, lambda rec: rec.log([0, 8], NAN, TARGETS[[0, 8]])), "in epoch 4 those of"),
    ("target too large", log([0, 1], TWO, [0, K]), f"class numbers from 0 to {K - 1}; got {K}"),
    ("target negative", log([0, 1], TWO, [0, -1]), "got -1"),
    ("targets of floats", log([0, 1], TWO, [0.0, 1.0]), "must be 2 class number(s), one per position; got"),
    ("too few targets", log([0, 1], TWO, [0]), "must be 2 class number(s)"),
    (
        "changed target",
        then(filled, lambda rec: rec.log([6], TWO[:1], [(TARGETS[6] + 1) % K])),
        "must stay the same; that of position 6",
    ),
    ("nothing logged", then(empty, lambda rec: rec.end_epoch()), "with nothing logged in epoch 1"),
    (
        "missing example",
        then(part(), lambda rec: rec.end_epoch()),
        f"{N - 3} of {N} examples were not logged in epoch 1, the first at position 3",
    ),
    ("nothing to carry", then(part(missing="carry"), lambda rec: rec.end_epoch()), "no epoch before to carry"),
    ("no epoch", then(empty, lambda rec: rec.signals()), "need at least one finished epoch"),
    ("unfinished epoch", then(part(), lambda rec: rec.signals()), "3 example(s) were logged in epoch 1 without"),
    ("regression NaN target", regress([0.0, 0.0], [0.0, np.nan]), "targets of Recorder.log must be finite"),
    ("regression two columns", regress(np.zeros((2, 2)), [0.0, 0.0]), "shape (2, 1)"),
    ("regression overflow", regress([0.0, 1e30], [0.0, 0.0]), "in epoch 1 that of position 1 is too large"),
    ("regression correct", regress([0.0, 0.0], [0.0, 0.0]), "correctness is not defined for a regression"),
    ("state of text", then(empty, lambda rec: rec.load_state_dict("x")), "state of Recorder must hold outputs"),
    ("state without", then(empty, lambda rec: rec.load_state_dict({"now": TWO})), "got now"),
    (
        "state of others",
        lambda: wn.Recorder(N, K + 1).load_state_dict(filled().state_dict()),
        f"outputs must be float32 of shape ({EPOCHS}, {N}, {K + 1})",
    ),
    (
        "state cut",
        then(filled, lambda rec: rec.load_state_dict({**rec.state_dict(), "losses": np.zeros((1, N))})),
        f"outputs must be float32 of shape (1, {N}, {K})",
    ),
    (
        "pass over other data",
        then(empty, lambda rec: passed(rec, [1, 2])),
        f"must be the length of the data set it records, 2; got {N}",
    ),
    ("pass over a stream", then(empty, lambda rec: passed(rec, iter([]))), "must have a length and be indexable"),
]


@pytest.mark.parametrize(("call", "fragment"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_refused_in_one_sentence(call: Callable[[], object], fragment: str) -> None:
    with pytest.raises(WinnowError) as caught:
        call()
    message = str(caught.value)
    assert fragment in message
    assert "\n" not in message


def test_a_refused_batch_leaves_the_recorder_as_it_was() -> None:
    rec = filled(epochs=1)
    before = rec.state_dict()
    for call in (lambda: rec.log([0, 8], NAN, TARGETS[[0, 8]]), lambda: rec.log([0], TWO[:1], [K])):
        with pytest.raises(WinnowError):
            call()
    after = rec.state_dict()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_classes_have_the_names_given() -> None:
    rec = wn.Recorder(3, 2, class_names=("cat", "dog"))
    rec.log([0, 1, 2], np.eye(2)[[0, 1, 1]], [0, 1, 1])
    rec.end_epoch()
    assert rec.signals().classes == ("cat", "dog")
    for names in (("cat",), ("cat", "cat"), (0, 1), "cat"):
        with pytest.raises(WinnowError, match="class_names of Recorder must be 2 different names"):
            wn.Recorder(3, 2, class_names=names)
    with pytest.raises(WinnowError, match="class_names of Recorder are for classification"):
        wn.Recorder(3, 1, task="regression", class_names=("price",))


@pytest.mark.parametrize("missing", ["error", "carry"])
def test_epochs_on_disk_are_those_in_memory(tmp_path: Path, missing: str) -> None:
    """Batches that do not fill what is measured at a time, and an epoch that leaves examples out."""
    rows = 3 * CHUNK // K + 17
    rng = np.random.default_rng(0)
    logits, targets = rng.normal(size=(3, rows, K)).astype(np.float32), rng.integers(K, size=rows)
    made = []
    for options in ({"keep": "logits"}, {"keep": "dynamics"}, {"keep": "dynamics", "directory": tmp_path}):
        rec = wn.Recorder(rows, K, missing=missing, precision="single", **options)
        for epoch in range(3):
            order = rng.permutation(rows)[: rows - 40 if missing == "carry" and epoch == 1 else None]
            order = np.arange(order.size) if missing == "carry" else order  # the same ones each time
            for start in range(0, order.size, 700):
                where = order[start : start + 700]
                rec.log(where, logits[epoch, where], targets[where])
            rec.end_epoch()
        made.append(rec.signals())
    for name in ("losses", "probabilities", "margins", "correct", "errors"):
        for other in made[1:]:
            np.testing.assert_allclose(other.array(name), made[0].array(name), rtol=1e-6, atol=1e-7)
    kinds, held = [], made[2].losses
    while held is not None:
        kinds, held = [*kinds, type(held)], getattr(held, "base", None)
    assert np.memmap in kinds
    assert list(tmp_path.iterdir()) == []
    assert wn.Signals.load(made[2].save(tmp_path / "seen.safetensors")).fingerprint == made[1].fingerprint


def test_signals_stay_as_they_are_while_recording_goes_on() -> None:
    rec = wn.Recorder(N, K, keep=("dynamics", "predictions"))
    seen = []
    for epoch in range(EPOCHS):
        rec.log(np.arange(N), LOGITS[epoch], TARGETS)
        rec.end_epoch()
        signals = rec.signals()
        seen.append((signals, signals.losses.copy(), signals.array("predictions").copy()))
    for signals, losses, predictions in seen:
        np.testing.assert_array_equal(signals.losses, losses)
        np.testing.assert_array_equal(signals.array("predictions"), predictions)


def test_a_folder_that_cannot_hold_epochs_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot write epochs to"):
        wn.Recorder(N, K, keep="dynamics", directory=tmp_path / "missing")
