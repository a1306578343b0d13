"""lpNTK head: remove redundant examples, and keep fewer of the most common kind in each class."""

from __future__ import annotations

import numpy as np

from ..core import checks, registry
from ..core.seeds import uniforms
from .lpntk_rows import class_labels, cluster_ranks, cost_of_rule, kernel_rows, least_covered
from .pool import Choice, Pool

__all__ = ["lpntk_head"]


@registry.selector(needs={"lpntk"}, paper="Guo et al. 2024 (lpNTK)", tasks=("classification",), cost=cost_of_rule)
def lpntk_head(
    pool: Pool,
    size: int,
    *,
    seed: int = 0,
    rule: str = "cover",
    cosine: float = 0.97,
    clusters: float = 0.1,
    kind: str = "raw",
) -> Choice:
    """Remove redundant examples, cluster what remains of each class, then thin the largest cluster at random.

    Section 4.2. Redundant examples are removed (`lpntk.redundant`); the rest of each class is clustered by farthest
    points on the lpNTK, the mean over seeds (`lpntk.farthest_points`). Then examples of the classes' largest clusters,
    taken together, are dropped at random until the size is reached (the paper drops a tenth of them). If that is not
    enough, the next largest clusters follow, and centres go last. If too many were redundant, the least covered ones
    are kept again.

    Parameters
    ----------
    pool
        Must have lpntk and class labels.
    size
        How many to keep.
    seed
        Seed of which examples of a cluster are dropped.
    rule
        The rule of redundancy: `cover`, or `paper`, as published, which removes every example with a short gradient.
    cosine
        The smallest cosine of a removed example and its witness, in (0, 1]; used by `cover`.
    clusters
        The number of clusters per class as a share of its remaining examples, in (0, 1].
    kind
        `raw` clusters by the kernel, as the paper does, so that clusters other than the largest mostly have one
        example; `cosine` by direction.
    """
    from ..methods.lpntk import FeatureRows, farthest_points, redundant

    owner = "selector 'lpntk_head'"
    rule = checks.choice("rule", owner, rule, ("cover", "paper"))
    least = checks.fraction("cosine", owner, cosine)
    share = float(checks.fraction("clusters", owner, clusters))
    kind = checks.choice("kind", owner, kind, ("raw", "cosine"))
    if size == pool.n:
        return Choice(np.arange(pool.n), certificate={"redundant": 0, "thinned": 0, "beyond_head": 0})
    rows, labels = kernel_rows(pool), class_labels(pool)
    found = redundant(FeatureRows(rows), rule, least, labels if rule == "cover" else None)
    spare = found.kept.size - size
    if spare <= 0:
        kept = np.concatenate([found.kept, least_covered(rows, found)[:-spare]]) if spare else found.kept
        return Choice(np.sort(kept), certificate={"redundant": pool.n - size, "thinned": 0, "beyond_head": 0})
    around = farthest_points(FeatureRows(rows[found.kept]), share, kind, labels[found.kept])
    ranks = cluster_ranks(around)
    centre = np.zeros(ranks.size, dtype=bool)
    centre[around.centres] = True
    order = np.lexsort((uniforms(seed, "lpntk_head", pool.ids[found.kept]), ranks, centre))
    about = {
        "redundant": int(found.removed.size),
        "thinned": int(spare),
        "beyond_head": int((ranks[order[:spare]] > 0).sum()),
    }
    return Choice(np.sort(found.kept[order[spare:]]), certificate=about)
