"""The theory of pruning: solve it, simulate it, advise from it.

A teacher labels Gaussian inputs, a probe ranks them, a fraction is kept and a max-margin student learns from it.
`solve` and `learning_curve` give the student's error exactly for large dimensions (Sorscher et al. 2022, with the
errors of the printed formulas put right: see docs/theory.md); `simulate` trains such students; `optimal_window`,
`best_keep` and `frontier` say what to keep; `information_gain`, `minimum_keep` and `asymptotic_prefactor` say why;
`fit_scaling` and `pareto` do the same for errors that were measured. Only numpy, scipy and numba are needed.
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
