"""How far could pruning go? The theory's answer for your numbers, checked on simulated students and on made-up runs.

Nothing here is trained on real data. The theory says what a linear student would do; `winnow plan` estimates what that
means for yours.
"""

from __future__ import annotations

import numpy as np

import winnow as wn

# Ten examples per dimension, and a probe that is 10 degrees off: keep how much of them, and which?
for policy in ("hard", "easy", "random"):
    found = wn.theory.solve(3, keep=0.3, angle=10, policy=policy)
    print(f"3 of 10 examples per dimension, {policy}: error {found.error:.4f}")
window = wn.theory.optimal_window(3, keep=0.3, angle=10)
print(f"best window {window.a:.2f} < |margin| < {window.b:.2f}: error {window.error:.4f}")

# How much of everything can go, if the error may grow by a tenth?
spare = wn.theory.best_keep(total=10, angle=10, within=0.1)
print(f"keep {spare.keep:.0%} of 10 per dimension: error {spare.error:.4f} against {spare.full_error:.4f} for all")

# The question without an answer is refused, with the reason.
try:
    wn.theory.best_keep(3)
except wn.errors.WinnowError as error:
    print(f"refused: {error}")

# Students that are trained, in 100 dimensions, beside the theory.
seen = wn.theory.simulate(3, keep=0.3, angle=10, N=100, draws=50)
print(f"simulated: {seen.error:.4f} +- {seen.standard_error:.4f}; theory {wn.theory.solve(3, 0.3, 10).error:.4f}")

# Your own measurements: which law do they follow?
sizes = np.array([500, 1000, 2000, 4000, 8000, 16000])
errors = 0.05 + 4.0 * sizes**-0.6 * np.array([1.02, 0.99, 1.01, 0.98, 1.0, 1.01])
print(wn.theory.fit_scaling(sizes, errors))
