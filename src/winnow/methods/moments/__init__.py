"""Moment matching: replace many weighted points by a few of them with the same moments.

`compress` selects and reweights the points, `moment_error` checks the result, `feasible_size` gives the number of
points an order needs, and `advise` suggests an order and the error to expect. The points can be examples, embeddings,
or the neurons of a layer. This package needs only numpy, scipy and numba.
"""

from __future__ import annotations

from .advise import Advice, advise
from .compress import compress
from .moment_error import moment_error
from .moment_table import feasible_size

__all__ = ["Advice", "advise", "compress", "feasible_size", "moment_error"]
