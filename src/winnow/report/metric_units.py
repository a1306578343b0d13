"""How metrics, their differences and names are written in sentences, tables and figures."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..artefacts import Interval, Study
from ..artefacts.class_metrics import WORDS, in_percent
from ..core.units import GAP, MINUS

__all__ = ["Units", "method_of", "name_for_axis"]

LONGEST_NAME = 22


@dataclass(frozen=True)
class Units:
    """How a metric is written: accuracies and average precision in per cent, differences in points; others unscaled."""

    word: str
    axis: str
    scale: float
    digits: int
    percent: bool
    per: str = "class"  # what the metric is given for one by one

    @classmethod
    def of(cls, study: Study) -> Units:
        """The units of a study's metric."""
        return cls.named(study.metric)

    @classmethod
    def named(cls, metric: str) -> Units:
        """The units of a metric."""
        word = "R\N{SUPERSCRIPT TWO}" if metric == "r2" else WORDS[metric]
        if in_percent(metric):
            return cls(word, f"{word}, %", 100.0, 1, True, per="label" if metric == "map" else "class")
        return cls(word, word, 1.0, 3, False)

    def number(self, value: float, sign: bool = False) -> str:
        """A value or difference without its unit; `sign` adds a plus sign to positive ones."""
        text = f"{abs(value) * self.scale:.{self.digits}f}"
        if not float(text):
            return text
        return (MINUS if value < 0 else "+" if sign else "") + text

    def level(self, value: float) -> str:
        """A value of the metric."""
        return self.number(value) + (f"{GAP}%" if self.percent else "")

    def size(self, value: float) -> str:
        """The size of a difference, without its sign."""
        text = self.number(abs(value))
        if not self.percent:
            return text
        return f"{text}{GAP}point" + ("" if text == "1.0" else "s")

    def spread(self, got: Interval) -> str:
        """Mean and interval of the metric."""
        if math.isnan(got.low):
            return self.level(got.centre)
        if not got.symmetric:
            ends = f"{self.number(got.low)} to {self.number(got.high)}"
            return f"{self.level(got.centre)} ({ends})"
        text = f"{self.number(got.centre)} \N{PLUS-MINUS SIGN} {self.number(got.half_width)}"
        return text + (f"{GAP}%" if self.percent else "")

    def ends(self, gap: Interval) -> str:
        """The ends of a difference's interval."""
        if math.isnan(gap.low):
            return "one seed: no interval"
        return f"{self.number(gap.low, True)} to {self.number(gap.high, True)}"


def method_of(arm: str) -> str:
    """The method in an arm's name: the part before the last @."""
    return arm.rpartition("@")[0] or arm


def name_for_axis(name: str) -> str:
    """A name from the data, shortened and made printable for a figure."""
    clean = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name)
    return clean if len(clean) <= LONGEST_NAME else clean[: LONGEST_NAME - 1] + "\N{HORIZONTAL ELLIPSIS}"
