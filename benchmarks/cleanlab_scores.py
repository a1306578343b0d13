"""cleanlab's judgement of labels, from probabilities in a file. It runs in cleanlab's own environment, without winnow.

python benchmarks/cleanlab_scores.py IN.npz OUT.npz

IN has `labels` and `probabilities` (out of fold); OUT gets `quality`, the label quality scores (self-confidence, the
default: high is good), and `flagged`, what `find_label_issues` returns as a mask with its defaults.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np


def main() -> None:
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    given = np.load(sys.argv[1])
    labels, probabilities = given["labels"], given["probabilities"]
    np.savez(
        sys.argv[2],
        quality=get_label_quality_scores(labels, probabilities),
        flagged=find_label_issues(labels, probabilities, n_jobs=1),
    )


def environment(folder: Path) -> Path:
    """The Python of an environment with cleanlab; made if it is not there."""
    import subprocess
    import venv

    python = folder / "bin" / "python"
    ready = folder / "ready"
    if not ready.exists():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "cleanlab"], check=True)
        ready.touch()
    return python


if __name__ == "__main__":
    main()
