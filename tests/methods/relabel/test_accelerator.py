"""The accelerator: its loss against a plain loop, precision, state, several processes, refusals."""

from __future__ import annotations

import copy
import math
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import winnow as wn
from winnow.core.errors import DivergedError, InputError
from winnow.methods.relabel.accelerator import _apart

N, IN, DIM = 6, 5, 3


def made(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_the_loss_is_one_minus_the_cosine_over_examples_and_views():
    accelerator = wn.Accelerator(IN, DIM)
    views, targets = [made(N, IN, seed=1), made(N, IN, seed=2)], made(N, DIM, seed=3)
    weight, bias = (p.detach().numpy() for p in accelerator.head.parameters())
    apart = []
    for view in views:
        for x, y in zip(view.numpy(), targets.numpy(), strict=True):
            out = weight @ x + bias
            apart.append(1 - out @ y / np.sqrt((out @ out) * (y @ y)))
    assert accelerator.loss(views, targets).item() == pytest.approx(np.mean(apart), abs=1e-6)
    assert accelerator.loss(tuple(views), targets.numpy()).item() == pytest.approx(np.mean(apart), abs=1e-6)
    assert torch.equal(accelerator(views, targets), accelerator.loss(views, targets))  # what wrappers call
    assert accelerator.loss(views[0], targets).item() == pytest.approx(np.mean(apart[:N]), abs=1e-6)


def test_head_and_student_learn_and_a_frozen_head_does_not():
    for train_head in (True, False):
        accelerator, student = wn.Accelerator(IN, DIM, train_head=train_head), nn.Linear(4, IN)
        before = copy.deepcopy(accelerator.head.state_dict())
        optimizer = torch.optim.SGD([*student.parameters(), *accelerator.parameters()], lr=0.5)
        x, targets = made(N, 4), made(N, DIM, seed=3)
        losses = []
        for _ in range(60):
            optimizer.zero_grad()
            loss = accelerator.loss(student(x), targets)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[-1] < 0.6 * losses[0]
        moved = any(not torch.equal(before[name], value) for name, value in accelerator.head.state_dict().items())
        assert moved == train_head


def test_the_seed_decides_the_head_and_torch_is_left_alone():
    torch.manual_seed(5)
    state = torch.get_rng_state()
    one, same, other = (wn.Accelerator(IN, DIM, seed=seed).head.weight for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
    assert one.abs().max() <= 1 / math.sqrt(IN)


def test_constant_losses_switch_at_the_steps_of_the_paper():
    for value in (1.0, torch.tensor(1.0), torch.tensor([1.0], dtype=torch.bfloat16)):
        accelerator = wn.Accelerator(IN, DIM)
        for _ in range(527):
            assert accelerator.active
            accelerator.update(value)
        assert (accelerator.active, accelerator.switched_at) == (False, 527)
    accelerator.update(math.nan)  # nothing is read any more
    assert accelerator.loss(made(N, IN), made(N, DIM)).isfinite()


def test_update_without_a_value_takes_the_mean_since_the_last_one():
    accelerator = wn.Accelerator(IN, DIM, planned_steps=100)
    losses = [accelerator.loss(made(N, IN, seed=seed), made(N, DIM)) for seed in range(3)]
    with torch.no_grad():  # a validation pass plays no part
        accelerator.loss(made(N, IN, seed=9), made(N, DIM))
    other = copy.deepcopy(accelerator)
    accelerator.update()
    other.update(torch.stack(losses).mean())
    assert accelerator.switch.state_dict() == pytest.approx(other.switch.state_dict())
    with pytest.raises(InputError, match=r"loss_value of Accelerator\.update must be given if loss was not called"):
        accelerator.update()


@pytest.mark.parametrize("switch", ["adaptive", 40, None])
def test_a_state_saved_midway_goes_on_the_same_way(tmp_path: Path, switch):
    losses = 0.3 + 0.7 * np.exp(-np.arange(100) / 20)
    whole, first, rest = (wn.Accelerator(IN, DIM, 100, switch=switch, seed=seed) for seed in (0, 0, 1))
    for loss in losses:
        whole.update(loss)
    for loss in losses[:30]:
        first.update(loss)
    torch.save(first.state_dict(), tmp_path / "state.pt")
    rest.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    for loss in losses[30:]:
        rest.update(loss)
    assert rest.switched_at == whole.switched_at
    assert (whole.switched_at is None) == (switch is None)
    for name, value in whole.state_dict().items():
        assert torch.equal(rest.state_dict()[name], value), name


def test_a_state_must_be_whole_and_of_the_same_settings():
    accelerator = wn.Accelerator(IN, DIM, 100)
    state = accelerator.state_dict()
    assert set(state) == {"head.weight", "head.bias", "_extra_state"}
    for missing in state:
        with pytest.raises(RuntimeError, match="Missing key"):
            accelerator.load_state_dict({name: value for name, value in state.items() if name != missing})
    with pytest.raises(InputError, match="same planned_steps and switch; its planned_steps is 100"):
        wn.Accelerator(IN, DIM, 200).load_state_dict(state)
    with pytest.raises(InputError, match="must be 6 numbers in double precision"):
        accelerator.load_state_dict({**state, "_extra_state": torch.zeros(2)})


def test_copies_and_casts_keep_the_switch_exact():
    accelerator = wn.Accelerator(IN, DIM)
    for _ in range(300):
        accelerator.update(0.9)
    small = copy.deepcopy(accelerator).to(torch.bfloat16)
    assert small.switch.state_dict() == accelerator.switch.state_dict()
    assert small.state_dict()["_extra_state"].dtype == torch.float64
    accelerator.update(0.9)
    assert small.switch.steps == 300
    assert small.loss(made(N, IN).bfloat16(), made(N, DIM)).dtype == torch.float32


def test_the_loss_is_in_single_precision_under_autocast():
    accelerator = wn.Accelerator(IN, DIM)
    features, targets = made(N, IN).requires_grad_(), made(N, DIM, seed=1)
    exact = accelerator.loss(features, targets)
    with torch.autocast("cpu", torch.bfloat16):
        mixed = accelerator.loss(features, targets)
        from_half = accelerator.loss(features.bfloat16(), targets.half())
    assert mixed.dtype == from_half.dtype == torch.float32
    assert torch.equal(mixed, exact)
    assert float(from_half.detach()) == pytest.approx(float(exact.detach()), abs=0.02)
    from_half.backward()
    assert features.grad.isfinite().all()


def test_targets_without_a_direction_are_refused():
    accelerator, features = wn.Accelerator(IN, DIM), made(N, IN)
    for bad in (0.0, math.nan, math.inf):
        targets = made(N, DIM)
        targets[2] = bad
        targets[4] = bad
        sentence = "finite and not zero, since a zero target has no direction; 2 of 6 are not, the first in row 2"
        with pytest.raises(InputError, match=sentence):
            accelerator.loss(features, targets)


@pytest.mark.parametrize("size", [1e-30, 1e30])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_length_of_a_target_does_not_matter(size, kind):
    accelerator, features = wn.Accelerator(IN, DIM), made(N, IN)
    targets = made(N, DIM, seed=1).numpy().astype(kind)
    wanted = accelerator.loss(features, targets).item()
    assert wanted != pytest.approx(1.0, abs=1e-3)  # what a cosine of nothing gives
    assert accelerator.loss(features, kind(size) * targets).item() == pytest.approx(wanted, abs=1e-6)


def test_targets_may_be_any_rows_of_floats():
    accelerator, features, targets = wn.Accelerator(IN, DIM), made(N, IN), made(N, DIM, seed=1).numpy()
    wanted = accelerator.loss(features, torch.from_numpy(targets)).item()
    frozen = targets.copy()
    frozen.flags.writeable = False  # as `Targets.values` are
    for rows in (frozen, targets.astype(">f4"), targets[::-1].copy()[::-1], targets.tolist()):
        assert accelerator.loss(features, rows).item() == pytest.approx(wanted, abs=1e-6)
    assert accelerator.loss(features, targets.astype(np.float16)).item() == pytest.approx(wanted, abs=1e-2)


def test_where_looking_is_dear_such_targets_show_as_nan_and_do_no_harm():
    outputs, targets = made(N, DIM).requires_grad_(), made(N, DIM, seed=1)
    targets[2] = 0
    loss = _apart(outputs, targets)
    loss.backward()
    assert loss.isnan()
    assert outputs.grad.isfinite().all()
    with pytest.raises(DivergedError, match=r"loss of stage 1 is nan at step 1.*targets that are zero"):
        wn.Accelerator(IN, DIM).update(loss)


@pytest.mark.parametrize(
    ("features", "targets", "sentence"),
    [
        (made(N, IN + 1), made(N, DIM), r"features .* must be \(examples, 5\).*got \(6, 6\)"),
        ([made(N, IN), made(N - 1, IN)], made(N, DIM), r"the same number in every view; got \(6, 5\), \(5, 5\)"),
        (made(N, IN, 1), made(N, DIM), r"features .* must be \(examples, 5\)"),
        (made(0, IN), made(0, DIM), r"features .* must be \(examples, 5\)"),
        ([], made(N, DIM), "features of Accelerator.loss must be a tensor of floats, or a non-empty list"),
        (None, made(N, DIM), "features of Accelerator.loss must be a tensor of floats"),
        (made(N, IN), None, r"targets of Accelerator.loss must be .* floats; got NoneType"),
        (made(N, IN), [[1.0], [1.0, 2.0]], r"targets of Accelerator.loss must be .* floats; got list"),
        (made(N, IN), "targets.parquet", r"targets of Accelerator.loss must be .* floats; got str"),
        ([np.ones((N, IN))], made(N, DIM), "features of Accelerator.loss must be a tensor of floats"),
        (made(N, IN), made(N, DIM + 1), r"targets .* must be \(6, 3\) floats, one row per example; got shape \(6, 4\)"),
        (made(N, IN), made(N - 1, DIM), r"targets .* must be \(6, 3\) floats.*got shape \(5, 3\)"),
        (made(N, IN), torch.ones(N, DIM, dtype=torch.int64), r"targets .* floats.*of torch.int64"),
    ],
)
def test_what_does_not_fit_is_refused(features, targets, sentence):
    with pytest.raises(InputError, match=sentence):
        wn.Accelerator(IN, DIM).loss(features, targets)


def test_bad_settings_and_values_are_refused():
    with pytest.raises(InputError, match="in_dim of Accelerator must be a whole number of at least 1; got 0"):
        wn.Accelerator(0, DIM)
    with pytest.raises(InputError, match=r"dim of Accelerator must be a whole number of at least 1; got 2\.5"):
        wn.Accelerator(IN, 2.5)
    with pytest.raises(InputError, match=r"loss_value of Accelerator.update must be one number; got shape \(2,\)"):
        wn.Accelerator(IN, DIM).update(torch.ones(2))
    for value in ("0.5", [1.0], True):
        with pytest.raises(InputError, match=r"loss_value of Accelerator.update must be one number; got"):
            wn.Accelerator(IN, DIM).update(value)
    with pytest.raises(InputError, match="train_head of Accelerator must be True or False; got 'no'"):
        wn.Accelerator(IN, DIM, train_head="no")
    with pytest.raises(InputError, match=r"optimizers of Accelerator.check_optimizer must be"):
        wn.Accelerator(IN, DIM).check_optimizer([])


def test_an_optimiser_without_the_head_is_refused():
    accelerator, student = wn.Accelerator(IN, DIM), nn.Linear(4, IN)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
    with pytest.raises(InputError, match=r"must hold the parameters of the Accelerator's head.*missing: weight, bias"):
        accelerator.check_optimizer(optimizer)
    optimizer.add_param_group({"params": accelerator.parameters()})
    accelerator.check_optimizer(optimizer)
    wn.Accelerator(IN, DIM, train_head=False).check_optimizer(torch.optim.SGD(student.parameters(), lr=0.1))


def one_of_two(rank: int, folder: str) -> None:
    """A process of a training of two, with losses of its own."""
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    accelerator = wn.Accelerator(IN, DIM, 60)
    for _ in range(60):
        accelerator.update(torch.tensor([0.0, 1.4][rank]))
    Path(folder, f"{rank}.txt").write_text(str(accelerator.switched_at))
    wrapped = nn.parallel.DistributedDataParallel(wn.Accelerator(IN, DIM))
    views = [made(N, IN, seed=seed).requires_grad_() for seed in (rank, rank + 5)]
    wrapped(views, made(N, DIM, seed=9)).backward()
    assert all(view.grad is not None for view in views)
    torch.save(wrapped.module.head.weight.grad, Path(folder, f"{rank}.pt"))
    torch.distributed.destroy_process_group()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of newer Pythons, if another test left a thread
def test_two_processes_switch_together(tmp_path: Path):
    # Forked: to import torch afresh would take most of the test. The children start no thread but gloo's.
    torch.multiprocessing.start_processes(one_of_two, (str(tmp_path),), nprocs=2, start_method="fork")
    found = [int((tmp_path / f"{rank}.txt").read_text()) for rank in (0, 1)]
    alone = wn.Accelerator(IN, DIM, 60)
    for _ in range(60):
        alone.update(0.7)  # their mean
    assert found == [alone.switched_at, alone.switched_at]
    grads = []
    for rank in (0, 1):  # wrapped, the head has the gradient of the mean over processes
        one = wn.Accelerator(IN, DIM)
        one.loss([made(N, IN, seed=seed) for seed in (rank, rank + 5)], made(N, DIM, seed=9)).backward()
        grads.append(one.head.weight.grad)
    for rank in (0, 1):
        shared = torch.load(tmp_path / f"{rank}.pt", weights_only=True)
        assert torch.allclose(shared, (grads[0] + grads[1]) / 2, atol=1e-6)
