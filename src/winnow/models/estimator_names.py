"""Scikit-learn estimators by name: `sklearn:LogisticRegression`, with options as `sklearn:LogisticRegression:C=0.1`.

Known are the classifiers and regressors of scikit-learn itself, and nothing else: a name on the command line must not
import whatever it likes. Classifiers must give probabilities or a decision function.
"""

from __future__ import annotations

import difflib
from functools import cache
from typing import Any

from ..core.errors import InputError, UnknownNameError
from .build import written_options

__all__ = ["PREFIX", "estimator_named", "is_estimator_name"]

PREFIX = "sklearn:"


def is_estimator_name(value: object) -> bool:
    """Whether a model is the name of an estimator."""
    return isinstance(value, str) and value.startswith(PREFIX)


def estimator_named(name: str) -> Any:
    """Make the estimator of a name.

    Parameters
    ----------
    name
        `sklearn:NAME`, or `sklearn:NAME:option=value,option=value`; values are read as JSON, or else as text.

    Returns
    -------
    estimator
        Not fitted.

    Raises
    ------
    UnknownNameError
        If scikit-learn has no such classifier or regressor, or it has no such option.
    InputError
        If it cannot be made without other objects.

    Examples
    --------
    >>> estimator_named("sklearn:LogisticRegression:C=0.1")
    LogisticRegression(C=0.1)
    """
    word, colon, text = name.removeprefix(PREFIX).partition(":")
    known = _known()
    if word not in known:
        near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
        hint = f" (nearest: {near[0]!r})" if near else ""
        raise UnknownNameError(
            f"unknown scikit-learn estimator {word!r}{hint}; known are its classifiers and regressors, such "
            "as LogisticRegression and HistGradientBoostingRegressor."
        )
    options = written_options(name, text, plain=False) if colon else {}
    try:
        made = known[word]()
    except TypeError:
        raise InputError(f"{name!r} needs other estimators to be made of; make it in Python and pass it.") from None
    for option in options:
        if option not in made.get_params(deep=False):
            raise UnknownNameError.of(f"option of {word}:", option, sorted(made.get_params(deep=False)))
    return made.set_params(**options)


@cache
def _known() -> dict[str, Any]:
    from sklearn.utils import all_estimators

    ways = ("predict_proba", "decision_function")
    classifiers = {name: kind for name, kind in all_estimators("classifier") if any(hasattr(kind, way) for way in ways)}
    return {**dict(all_estimators("regressor")), **classifiers}
