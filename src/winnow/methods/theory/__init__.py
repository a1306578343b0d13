"""The theory of pruning: predict the error of a pruned training set from its size.

The model: a teacher labels Gaussian inputs, a probe ranks them, a fraction is kept, and a max-margin student is
trained on it (Sorscher et al. 2022; docs/theory.md lists the corrections to the printed formulas).

- `solve` and `learning_curve` give the student's error, exact in the limit of many dimensions.
- `simulate` trains such students in a finite dimension, to check the theory.
- `optimal_window`, `best_keep` and `frontier` say which examples to keep, and how many.
- `information_gain`, `minimum_keep` and `asymptotic_prefactor` explain why.
- `fit_scaling` and `pareto` analyse errors measured in real trainings.

This package needs only numpy, scipy and numba.
"""

from __future__ import annotations

from .asymptotics import asymptotic_prefactor, minimum_keep, power_law_constant
from .frontiers import BestKeep, BestWindow, Frontier, best_keep, frontier, optimal_window
from .information import Information, information_gain
from .max_margin import max_margin
from .pareto import Pareto, pareto
from .policies import Window, window
from .scaling_laws import ScalingFit, fit_scaling
from .simulate import Extrapolation, Simulation, extrapolate, simulate
from .solve import Curve, Solution, learning_curve, solve

__all__ = [
    "BestKeep",
    "BestWindow",
    "Curve",
    "Extrapolation",
    "Frontier",
    "Information",
    "Pareto",
    "ScalingFit",
    "Simulation",
    "Solution",
    "Window",
    "asymptotic_prefactor",
    "best_keep",
    "extrapolate",
    "fit_scaling",
    "frontier",
    "information_gain",
    "learning_curve",
    "max_margin",
    "minimum_keep",
    "optimal_window",
    "pareto",
    "power_law_constant",
    "simulate",
    "solve",
    "window",
]
