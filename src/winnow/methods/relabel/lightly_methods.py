"""The eight self-supervised methods, built from lightly's heads and losses. The only file that imports lightly.

Heads are scaled to the backbone: with d features, hidden layers have 4 d units (the papers' 2048 to 8192 belong to
ResNet-50's 2048 features). Temperatures and loss weights are lightly's defaults unless a line here says otherwise.
All methods use two views; DINO and SwAV add small crops that only the student, or only the prediction, sees.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import torch
from lightly.loss import BarlowTwinsLoss, DINOLoss, NegativeCosineSimilarity, NTXentLoss, SwaVLoss, VICRegLoss
from lightly.models.modules import heads
from torch import nn
from torch.nn import functional

from .self_supervised import SelfSupervisedMethod, Shadow

__all__ = ["FAMILIES"]

Outputs = tuple[list[torch.Tensor], ...]
Views = Sequence[torch.Tensor]

QUEUE = 4096  # maximum number of keys in MoCo's queue


class Joint(SelfSupervisedMethod):
    """Both views through backbone and projection, then one loss between them."""

    def __init__(self, projection: nn.Module, criterion: nn.Module) -> None:
        super().__init__()
        self.projection, self.criterion = projection, criterion

    def outputs(self, backbone: nn.Module, views: Views) -> Outputs:
        """Projections of the views."""
        return ([self.projection(backbone(view)) for view in views[:2]],)

    def compare(self, *outputs: list[torch.Tensor]) -> torch.Tensor:
        """The loss between the two."""
        (projected,) = outputs
        loss: torch.Tensor = self.criterion(*projected)
        return loss


def simclr(backbone: nn.Module, d: int, steps: int, examples: int, batch: int) -> SelfSupervisedMethod:
    """SimCLR: contrast within the batch, temperature .5."""
    criterion = NTXentLoss(temperature=0.5)
    criterion.memory_bank.bank_ptr.zero_()  # lightly leaves the pointer of an absent queue unset
    return Joint(heads.SimCLRProjectionHead(d, 4 * d, d), criterion)


def barlow_twins(backbone: nn.Module, d: int, steps: int, examples: int, batch: int) -> SelfSupervisedMethod:
    """Barlow Twins: the cross-correlation of the projections is pushed towards the identity."""
    return Joint(heads.BarlowTwinsProjectionHead(d, 4 * d, 4 * d), BarlowTwinsLoss())


def vicreg(backbone: nn.Module, d: int, steps: int, examples: int, batch: int) -> SelfSupervisedMethod:
    """VICReg: variance, invariance and covariance; its expander is the one of Barlow Twins."""
    return Joint(heads.BarlowTwinsProjectionHead(d, 4 * d, 4 * d), VICRegLoss())


class SimSiam(SelfSupervisedMethod):
    """SimSiam: predict one view's projection from the other's, no gradient through the target."""

    def __init__(self, backbone: nn.Module, d: int, steps: int, examples: int, batch: int) -> None:
        super().__init__()
        self.projection = heads.SimSiamProjectionHead(d, 4 * d, 4 * d)
        self.prediction = heads.SimSiamPredictionHead(4 * d, d, 4 * d)
        self.criterion = NegativeCosineSimilarity()

    def outputs(self, backbone: nn.Module, views: Views) -> Outputs:
        """Predictions, and the projections they aim at."""
        projected = [self.projection(backbone(view)) for view in views[:2]]
        return [self.prediction(value) for value in projected], [value.detach() for value in projected]

    def compare(self, *outputs: list[torch.Tensor]) -> torch.Tensor:
        """Mean of both directions."""
        return _crosswise(self.criterion, *outputs)


class BYOL(SelfSupervisedMethod):
    """BYOL: predict what a moving average of the network outputs for the other view."""

    def __init__(self, backbone: nn.Module, d: int, steps: int, examples: int, batch: int) -> None:
        super().__init__()
        self.projection = heads.BYOLProjectionHead(d, 4 * d, 2 * d)
        self.prediction = heads.BYOLPredictionHead(2 * d, 4 * d, 2 * d)
        self.criterion = NegativeCosineSimilarity()
        self.shadow, self.target = Shadow(backbone, steps), Shadow(self.projection, steps)
        self.followed = [(self.projection, self.target)]

    def outputs(self, backbone: nn.Module, views: Views) -> Outputs:
        """Predictions, and the averaged network's projections."""
        predicted = [self.prediction(self.projection(backbone(view))) for view in views[:2]]
        return predicted, _averaged(self.shadow, self.target, views[:2])

    def compare(self, *outputs: list[torch.Tensor]) -> torch.Tensor:
        """Mean of both directions."""
        return _crosswise(self.criterion, *outputs)


class MoCo(SelfSupervisedMethod):
    """MoCo: contrast a view with the averaged network's key of the other, against a queue of earlier keys.

    Both views serve as query and as key, as in MoCo v3. The queue holds at most half of the data, so that few of its
    keys belong to the images of the batch; stage 1 does not change it. Temperature .1.
    """

    def __init__(self, backbone: nn.Module, d: int, steps: int, examples: int, batch: int) -> None:
        super().__init__()
        self.projection = heads.MoCoProjectionHead(d, 4 * d, d)
        size = max(2 * batch, min(QUEUE, examples // 2 // (2 * batch) * 2 * batch))
        self.criterion = NTXentLoss(temperature=0.1, memory_bank_size=(size, d))
        self.shadow, self.target = Shadow(backbone, steps), Shadow(self.projection, steps)
        self.followed = [(self.projection, self.target)]

    def outputs(self, backbone: nn.Module, views: Views) -> Outputs:
        """Queries, and the averaged network's keys."""
        return [self.projection(backbone(view)) for view in views[:2]], _averaged(self.shadow, self.target, views[:2])

    def compare(self, *outputs: list[torch.Tensor]) -> torch.Tensor:
        """One call for both directions: in two calls the second would see the first one's keys as negatives."""
        queries, keys = outputs
        loss: torch.Tensor = self.criterion(torch.cat(queries), torch.cat(keys[::-1]))
        return loss


class DINO(SelfSupervisedMethod):
    """DINO: the averaged network's distribution for one large view is predicted from every other view."""

    local_views = 2

    def __init__(self, backbone: nn.Module, d: int, steps: int, examples: int, batch: int) -> None:
        super().__init__()
        self.projection = _dino_head(d)
        target = _dino_head(d)  # weight norm stores a computed tensor, which cannot be deep-copied
        target.load_state_dict(self.projection.state_dict())
        self.criterion = DINOLoss(output_dim=8 * d)
        self.shadow = Shadow(backbone, steps)
        self.target = Shadow(nn.Identity(), steps)
        self.target.network = target.requires_grad_(False)
        self.followed = [(self.projection, self.target)]

    def outputs(self, backbone: nn.Module, views: Views) -> Outputs:
        """The averaged network's outputs for the large views, the student's for all."""
        student = [self.projection(backbone(view)) for view in views]
        return _averaged(self.shadow, self.target, views[:2]), student

    def compare(self, *outputs: list[torch.Tensor]) -> torch.Tensor:
        """Cross-entropy between different views; it moves the centre too."""
        loss: torch.Tensor = self.criterion(*outputs)
        return loss


class SwAV(SelfSupervisedMethod):
    """SwAV: the prototypes assigned to one view are predicted from the others; 4 d prototypes, no queue."""

    local_views = 2

    def __init__(self, backbone: nn.Module, d: int, steps: int, examples: int, batch: int) -> None:
        super().__init__()
        self.projection = heads.SwaVProjectionHead(d, 4 * d, d)
        self.prototypes = heads.SwaVPrototypes(d, 4 * d)
        for layer in self.prototypes.heads:
            layer.register_parameter("bias", None)  # lightly's has one; in the paper similarity is the product alone
        self.criterion = SwaVLoss()

    def outputs(self, backbone: nn.Module, views: Views) -> Outputs:
        """Similarity of each view to the prototypes, large views first."""
        self.prototypes.normalize()
        found = [functional.normalize(self.projection(backbone(view)), dim=1) for view in views]
        scores = [self.prototypes(value) for value in found]
        return scores[:2], scores[2:]

    def compare(self, *outputs: list[torch.Tensor]) -> torch.Tensor:
        """Swapped predictions."""
        loss: torch.Tensor = self.criterion(*outputs)
        return loss.sum()


FAMILIES = {
    "barlow_twins": barlow_twins,
    "byol": BYOL,
    "dino": DINO,
    "moco": MoCo,
    "simclr": simclr,
    "simsiam": SimSiam,
    "swav": SwAV,
    "vicreg": vicreg,
}


def _crosswise(criterion: nn.Module, predicted: list[torch.Tensor], aims: list[torch.Tensor]) -> torch.Tensor:
    loss: torch.Tensor = 0.5 * (criterion(predicted[0], aims[1]) + criterion(predicted[1], aims[0]))
    return loss


@torch.no_grad()
def _averaged(shadow: Shadow | None, target: Shadow, views: Views) -> list[torch.Tensor]:
    assert shadow is not None  # for the type checker: a momentum method has one
    return [target(shadow(view)) for view in views]


def _dino_head(d: int) -> nn.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # lightly uses torch's older weight norm
        head: nn.Module = heads.DINOProjectionHead(d, 4 * d, max(16, d // 2), 8 * d, batch_norm=True)
        return head
