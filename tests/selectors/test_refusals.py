"""Bad input to the selectors: what is called, and a fragment of the one sentence it gets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from winnow.artefacts import Scores
from winnow.core.errors import WinnowError
from winnow.scores.score import score
from winnow.selectors.select import select
from winnow.testing.planted import as_task, planted

GOOD = planted(n=24, seeds=1, epochs=10).signals
SCORED = score("el2n", GOOD)
BARE = Scores(name="mine", ids=np.arange(6), values=np.arange(6.0))
ODD = replace(SCORED, labels=np.full(24, 5))

REFUSALS = [
    ("unknown selector", lambda: select("ranks", SCORED, keep=0.5), "unknown selector 'ranks' (nearest: 'rank')"),
    ("neither keep nor size", lambda: select("rank", SCORED), "exactly one of keep= (a fraction in (0, 1])"),
    ("both keep and size", lambda: select("rank", SCORED, keep=0.5, size=3), "exactly one of keep="),
    ("keep of nothing", lambda: select("rank", SCORED, keep=0), "keep of select('rank')"),
    ("keep as a percentage", lambda: select("rank", SCORED, keep=50), "a number in (0, 1]; got 50"),
    ("keep that is no number", lambda: select("rank", SCORED, keep="half"), "keep of select('rank')"),
    ("keep that is not a number", lambda: select("rank", SCORED, keep=float("nan")), "got nan"),
    ("size beyond the data", lambda: select("rank", SCORED, size=25), "from 1 to 24; got 25"),
    ("size of nothing", lambda: select("random", SCORED, size=0), "from 1 to 24; got 0"),
    ("size that is not whole", lambda: select("random", SCORED, size=2.5), "whole number"),
    ("balance above one", lambda: select("rank", SCORED, keep=0.5, balance=1.5), "balance of selector 'rank'"),
    ("balance without classes or embeddings", lambda: select("rank", BARE, keep=0.5, balance=0.5), "wn.embed"),
    ("negative seed of a selector", lambda: select("random", SCORED, keep=0.5, seed=-1), "seed of selector 'random'"),
    ("unknown parameter of a selector", lambda: select("rank", SCORED, keep=0.5, polcy="hard"), "'policy'"),
    ("unknown policy", lambda: select("rank", SCORED, keep=0.5, policy="hardest"), "(nearest: 'hard')"),
    ("skip without a window", lambda: select("rank", SCORED, keep=0.5, skip=0.1), "belongs to policy='window'"),
    (
        "skip beyond what is removed",
        lambda: select("rank", SCORED, keep=0.5, policy="window", skip=0.6),
        "at most the fraction removed (0.5); got 0.6",
    ),
    ("everything dropped", lambda: select("strata", SCORED, keep=0.1, drop=1.0), "drop of selector 'strata'"),
    ("no strata", lambda: select("strata", SCORED, keep=0.1, bins=0), "bins of selector 'strata'"),
    ("scores without the arrays beside them", lambda: select("beta", SCORED, keep=0.5), "pass the signals they came"),
    ("negative sampling weights", lambda: select("beta", GOOD, keep=0.5, score="aum"), "must not be negative"),
    (
        "class method on unlabelled data",
        lambda: select("beta", as_task(GOOD, "unlabelled"), keep=0.5, score="prototype"),
        "not for unlabelled data",
    ),
    ("unknown rule", lambda: select("lpntk_redundancy", GOOD, keep=0.5, rule="covers"), "(nearest: 'cover')"),
    ("cosine above one", lambda: select("lpntk_head", GOOD, keep=0.5, cosine=1.2), "cosine of selector 'lpntk_head'"),
    ("no clusters", lambda: select("lpntk_head_only", GOOD, keep=0.5, clusters=0), "clusters of selector 'lpntk_head"),
    ("no neighbours", lambda: select("graph", GOOD, keep=0.5, k=0), "k of selector 'graph'"),
    ("negative gamma", lambda: select("graph", GOOD, keep=0.5, gamma=-1), "gamma of selector 'graph'"),
    (
        "embeddings that were not observed",
        lambda: select("kcenter", replace(GOOD, arrays={"logits": GOOD.logits}), keep=0.5),
        "needs embeddings",
    ),
    ("score for a selector that reads none", lambda: select("kcenter", GOOD, keep=0.5, score="el2n"), "reads no"),
    ("score beside Scores", lambda: select("rank", SCORED, keep=0.5, score="aum"), "was given Scores already"),
    ("unknown score to select by", lambda: select("rank", GOOD, keep=0.5, score="aun"), "(nearest: 'aum')"),
    ("source in place of scores", lambda: select("rank", [1, 2, 3], keep=0.5), "selects from Scores or Signals"),
    ("signals that are none", lambda: select("graph", SCORED, keep=0.5, signals=SCORED), "must be Signals"),
    ("signals of other examples", lambda: select("graph", BARE, keep=0.5, signals=GOOD), "ids of signals look like"),
    ("labels that are no classes", lambda: select("rank", ODD, keep=0.5, balance=1.0), "from 0 to 2; got 5"),
]


@pytest.mark.parametrize(("call", "fragment"), [row[1:] for row in REFUSALS], ids=[row[0] for row in REFUSALS])
def test_refused_in_one_sentence(call, fragment):
    with pytest.raises(WinnowError) as caught:
        call()
    message = str(caught.value)
    assert fragment in message
    assert "\n" not in message
    assert len(message) < 400
