"""The first order of an SGD step by brute force: the whole Jacobian of every example, one at a time, in float64."""

from __future__ import annotations

import copy

import torch


def jacobian(net, one):
    """Classes x parameters, a backward pass for each logit."""
    logits = net(one.unsqueeze(0))[0]
    rows = []
    for logit in logits:
        slopes = torch.autograd.grad(logit, list(net.parameters()), retain_graph=True)
        rows.append(torch.cat([slope.flatten() for slope in slopes]))
    return torch.stack(rows), logits.detach()


def change_of_logits(model, x, y, batch, lr, direction):
    """n x classes: lr / |B| times the sum over the batch of J(x) J(b)^T d(b)."""
    net = copy.deepcopy(model).double().eval()
    found = [jacobian(net, one.double()) for one in x]
    classes = len(found[0][1])
    out = []
    for mine, _ in found:
        total = torch.zeros(classes, dtype=torch.float64)
        for b in batch:
            theirs, logits = found[b]
            error = -(logits.softmax(0) if direction == "error" else torch.full_like(logits, 1 / classes))
            error[y[b]] += 1
            total += mine @ theirs.T @ error
        out.append(lr / len(batch) * total)
    return torch.stack(out).numpy(), torch.stack([logits for _, logits in found]).numpy()
