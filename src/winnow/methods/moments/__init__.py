"""Moment matching: replace many weighted points by a few with the same moments.

`compress` does it, `moment_error` checks it, `feasible_size` says how many points an order needs, and `advise` which
order to take and what error to expect. The points may be examples, embeddings, or the neurons of a layer. Only numpy,
scipy and numba are needed.
"""

from __future__ import annotations

from .advise import Advice, advise
from .compress import compress
from .moment_error import moment_error
from .moment_table import feasible_size

__all__ = ["Advice", "advise", "compress", "feasible_size", "moment_error"]
