"""The slow twin of quotas over rows: sort every group, take the first."""

from __future__ import annotations


def first_rows(keys, ties, groups, quotas):
    """The positions with the smallest (key, tie, position) of each group."""
    picked = []
    for group, quota in enumerate(quotas):
        members = [i for i in range(len(keys)) if groups[i] == group]
        picked += sorted(members, key=lambda i: (keys[i], ties[i], i))[:quota]
    return sorted(picked)
