"""Record a training loop of your own, then train on the half that it forgot most often."""

import torch
from sklearn.datasets import load_digits
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

import winnow as wn

x, y = (torch.from_numpy(values) for values in load_digits(return_X_y=True))
x = x.float() / 16
dataset = TensorDataset(torch.arange(len(x)), x, y)  # the position of each example travels with it
torch.manual_seed(0)


def train(loader, epochs, recorder=None):
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(epochs):
        for positions, inputs, targets in loader:
            logits = model(inputs)
            optimizer.zero_grad()
            functional.cross_entropy(logits, targets).backward()
            optimizer.step()
            if recorder is not None:
                recorder.log(positions, logits, targets)
        if recorder is not None:
            recorder.end_epoch()
    return model


recorder = wn.Recorder(len(dataset), classes=10)
train(DataLoader(dataset, batch_size=64, shuffle=True), 15, recorder)

scores = wn.score("forgetting", recorder.signals())
subset = wn.select("rank", scores, keep=0.5, balance=0.5)
part = subset.to_torch(dataset)  # ids are positions here, so nothing else is needed
model = train(DataLoader(part, batch_size=64, sampler=subset.sampler(seed=0)), 30)
print(f"trained on {len(part)} of {len(dataset)}; right on {(model(x).argmax(1) == y).float().mean():.3f} of all")
