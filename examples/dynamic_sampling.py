"""Skip, in each epoch, half of the examples that are already learned, and compare at equal steps."""

import torch
from sklearn.datasets import load_digits
from torch.nn import functional

import winnow as wn

x, y = (torch.from_numpy(values) for values in load_digits(return_X_y=True))
x, test_x, y, test_y = x[:1200].float() / 16, x[1200:].float() / 16, y[:1200], y[1200:]
STEPS = 100


def accuracy(prune: float, seed: int) -> float:
    """Train for the same number of steps; prune=0 is a plain shuffle."""
    model = wn.models.build("mlp", classes=10, shape=(64,), seed=seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    smp = wn.DynamicSampler(len(x), prune=prune, steps=STEPS, batch=64, seed=seed)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    while not smp.finished:
        for positions in smp:
            where = torch.from_numpy(positions)
            losses = functional.cross_entropy(model(x[where]), y[where], reduction="none")
            optimizer.zero_grad()
            smp.weigh(losses).backward()
            optimizer.step()
            schedule.step()
    return (model.eval()(test_x).argmax(1) == test_y).float().mean().item()


for name, prune in {"everything": 0.0, "dynamic sampling": 0.5}.items():
    found = [accuracy(prune, seed) for seed in range(3)]
    print(f"{name}, {STEPS} steps: {sum(found) / len(found):.3f}, the mean of {len(found)} seeds")
