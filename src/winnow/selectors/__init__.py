"""Selectors: one function per file, from a Pool and a size to a Choice of exactly that many positions.

To add one: write `selectors/NAME.py` with a function `NAME(pool, size, *, seed=0, parameters)` under
`@registry.selector(needs=..., paper=..., default_score=...)` and add its import line here. `balance.py` wraps it
with class or cluster quotas, and `winnow.testing` includes it; a slow reference implementation belongs in
`tests/oracles/selectors.py`. A selector draws by id (`core.seeds.uniforms(seed, name, pool.ids)`), so that
neither the order of the source nor other examples change the draw; `size` is between 1 and `pool.n`.
"""

from __future__ import annotations

from .beta import beta
from .class_centre import class_centre
from .facility_location import facility_location
from .graph import graph
from .head_exact import head_exact
from .herding import herding
from .influence import influence
from .influence_bound import influence_bound
from .kcenter import kcenter
from .lpntk_head import lpntk_head
from .lpntk_head_only import lpntk_head_only
from .lpntk_redundancy import lpntk_redundancy
from .medoids import medoids
from .moderate import moderate
from .moments import moments
from .random import random
from .rank import rank
from .strata import strata
from .tilted import tilted

__all__ = [
    "beta",
    "class_centre",
    "facility_location",
    "graph",
    "head_exact",
    "herding",
    "influence",
    "influence_bound",
    "kcenter",
    "lpntk_head",
    "lpntk_head_only",
    "lpntk_redundancy",
    "medoids",
    "moderate",
    "moments",
    "random",
    "rank",
    "strata",
    "tilted",
]
