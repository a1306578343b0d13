"""DynamicSampler under torch.distributed: two real processes see, together, the plan of one, and learn the same."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
import torch

import winnow as wn

N, EPOCHS, BATCH = 37, 5, 8  # 37 is odd, so the processes' shares of the last batch differ
Seen = list[list[tuple[list[int], list[float]]]]


def trained(smp: wn.DynamicSampler) -> tuple[Seen, torch.Tensor]:
    """Fit a line; return the positions and weights of each batch of each epoch, and the parameters."""
    x = torch.linspace(-1, 1, N)[:, None]
    y = 3 * x[:, 0] + torch.sin(9 * x[:, 0])
    torch.manual_seed(0)
    model = torch.nn.Linear(1, 1)
    seen: Seen = []
    for _ in range(EPOCHS):
        batches = []
        for positions in smp:
            losses = torch.square(model(x[positions])[:, 0] - y[positions])
            loss = smp.weigh(losses)
            (share,) = torch.autograd.grad(loss, losses, retain_graph=True)  # weight / batch
            batches.append((positions.tolist(), (share * (smp.batch or 1)).tolist()))
            for parameter, slope in zip(model.parameters(), torch.autograd.grad(loss, model.parameters()), strict=True):
                if torch.distributed.is_initialized():  # the mean over processes, as DistributedDataParallel takes it
                    torch.distributed.all_reduce(slope)
                    slope /= 2
                parameter.data -= 0.05 * slope
        seen.append(batches)
    return seen, torch.cat([p.detach().ravel() for p in model.parameters()])


def one_of_two(rank: int, folder: str) -> None:
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    meet = f"file://{folder}/meet"
    torch.distributed.init_process_group(
        "gloo", init_method=meet, rank=rank, world_size=2, timeout=timedelta(seconds=120)
    )
    seen, parameters = trained(wn.DynamicSampler(N, epochs=EPOCHS, batch=BATCH // 2, seed=3))
    torch.save({"seen": seen, "parameters": parameters}, Path(folder, f"{rank}.pt"))
    torch.distributed.destroy_process_group()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of newer Pythons, if another test left a thread
def test_two_processes_see_the_plan_of_one_with_its_weights_and_learn_the_same(tmp_path: Path) -> None:
    # Forked: to import torch afresh would take most of the test. The children start no thread but gloo's.
    torch.multiprocessing.start_processes(one_of_two, (str(tmp_path),), nprocs=2, start_method="fork")
    first, second = (torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in (0, 1))
    wanted, parameters = trained(wn.DynamicSampler(N, epochs=EPOCHS, batch=BATCH, seed=3))
    assert [len(epoch) for epoch in first["seen"]] == [len(epoch) for epoch in wanted]
    visits = [sum(len(positions) for positions, _ in epoch) for epoch in wanted]
    assert visits[0] == N
    assert min(visits) < 0.6 * N  # something was skipped, by losses that each process knows half of
    for epoch, ours, theirs in zip(wanted, first["seen"], second["seen"], strict=True):
        for (positions, weights), a, b in zip(epoch, ours, theirs, strict=True):
            assert (a[0], b[0]) == (positions[::2], positions[1::2])
            np.testing.assert_allclose(a[1], weights[::2], rtol=1e-5)
            np.testing.assert_allclose(b[1], weights[1::2], rtol=1e-5)
    torch.testing.assert_close(first["parameters"], second["parameters"])
    torch.testing.assert_close(first["parameters"], parameters, rtol=1e-4, atol=1e-5)
