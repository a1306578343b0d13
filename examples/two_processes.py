"""Record a training on several processes: each one trains on its part and records what all of them saw."""

import os

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import winnow as wn


def train(rank: int, processes: int) -> None:
    dist.init_process_group("gloo", rank=rank, world_size=processes)
    source = wn.open("digits", limit=400)
    x = torch.from_numpy(source.fetch(source.ids)).float().flatten(1) / 16
    dataset = TensorDataset(torch.arange(400), x, torch.tensor(source.labels))
    sampler = DistributedSampler(dataset, seed=0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    recorder = wn.Recorder(400, classes=10, ids=source.ids)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for positions, inputs, labels in DataLoader(dataset, batch_size=32, sampler=sampler):
            logits = model(inputs)
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(logits, labels).backward()
            optimizer.step()
            seen = [None] * processes
            dist.all_gather_object(seen, (positions, logits.detach(), labels))
            recorder.log(*map(torch.cat, zip(*seen, strict=True)))
        recorder.end_epoch()
    if rank == 0:
        print(wn.select("rank", wn.score("el2n", recorder.signals()), keep=0.5))
    dist.barrier()


if __name__ == "__main__":
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29511", "GLOO_SOCKET_IFNAME": "lo"}
    torch.multiprocessing.spawn(train, args=(2,), nprocs=2)
