"""Slow twin of the word-by-word comparison of texts: recursion with memory, straight from the definition."""

from __future__ import annotations

from functools import cache


def changes(a: tuple[int, ...], b: tuple[int, ...], free: bool = False) -> int:
    """The fewest changes from `a` to `b`; with `free`, words of `b` before and after `a` cost nothing."""

    @cache
    def cost(i: int, j: int) -> int:
        if i == 0:
            return 0 if free else j
        if j == 0:
            return i
        ways = [cost(i - 1, j) + 1, cost(i, j - 1) + 1, cost(i - 1, j - 1) + (a[i - 1] != b[j - 1])]
        if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
            ways.append(cost(i - 2, j - 2) + 1)
        return min(ways)

    return min(cost(len(a), j) for j in range(len(b) + 1)) if free else cost(len(a), len(b))
