"""lpNTK head only: for small budgets, keep only the most common kind of examples in each class."""

from __future__ import annotations

import numpy as np

from ..core import checks, registry
from ..core.seeds import uniforms
from .lpntk_rows import class_labels, cluster_ranks, kernel_rows
from .pool import Choice, Pool

__all__ = ["lpntk_head_only"]


@registry.selector(
    needs={"lpntk"}, paper="Guo et al. 2024 (lpNTK)", tasks=("classification",), cost=registry.Cost("class^2", memory=2)
)
def lpntk_head_only(pool: Pool, size: int, *, seed: int = 0, clusters: float = 0.1, kind: str = "raw") -> Choice:
    """Draw from the largest cluster of each class and leave the tail out.

    Appendix E.2, for budgets of a few per cent: each class is clustered by farthest points on the lpNTK, the mean
    over seeds (`lpntk.farthest_points`), and the subset is drawn uniformly from the classes' largest clusters, taken
    together. If the size exceeds them, the next largest follow.

    Parameters
    ----------
    pool
        Must have lpntk and class labels.
    size
        How many to keep.
    seed
        Seed of the draw.
    clusters
        The number of clusters per class as a share of its examples, in (0, 1].
    kind
        `raw` clusters by the kernel, as the paper does; `cosine` by direction.
    """
    from ..methods.lpntk import FeatureRows, farthest_points

    owner = "selector 'lpntk_head_only'"
    share = float(checks.fraction("clusters", owner, clusters))
    kind = checks.choice("kind", owner, kind, ("raw", "cosine"))
    if size == pool.n:
        return Choice(np.arange(pool.n))
    around = farthest_points(FeatureRows(kernel_rows(pool)), share, kind, class_labels(pool))
    ranks = cluster_ranks(around)
    kept = np.lexsort((uniforms(seed, "lpntk_head_only", pool.ids), ranks))[:size]
    return Choice(
        np.sort(kept), certificate={"head": int((ranks == 0).sum()), "beyond_head": int((ranks[kept] > 0).sum())}
    )
