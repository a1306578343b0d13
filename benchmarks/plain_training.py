"""A training of LeNet-5 as one writes it in plain torch, without winnow: the peer of `seeds_side_by_side.py`.

    python benchmarks/plain_training.py IMAGES EPOCHS

One thread, batches of 128 random images, channels last, AdamW. After an epoch that is not timed it says so and waits
for a line, so that several start together; then it prints the seconds of the epochs, of the wall and of the processor.
"""

from __future__ import annotations

import sys
import time

import torch
from torch import nn

BATCH = 128


def network() -> nn.Module:
    convolutions = nn.Conv2d(1, 6, 5, padding=2), nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(6, 16, 5), nn.MaxPool2d(2)
    rest = nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)
    return nn.Sequential(*convolutions, nn.ReLU(), nn.Flatten(), *rest).to(memory_format=torch.channels_last)


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    images, epochs = int(sys.argv[1]), int(sys.argv[2])
    x, y = torch.rand(images, 1, 28, 28), torch.randint(0, 10, (images,))
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

    def epoch() -> None:
        for where in torch.randperm(images).split(BATCH):
            optimizer.zero_grad(set_to_none=True)
            nn.functional.cross_entropy(model(x[where]), y[where]).backward()
            optimizer.step()

    epoch()
    print("ready", flush=True)
    sys.stdin.readline()
    start, used = time.perf_counter(), time.process_time()
    for _ in range(epochs):
        epoch()
    print(time.perf_counter() - start, time.process_time() - used, flush=True)


if __name__ == "__main__":
    main()
