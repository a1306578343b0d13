"""The report: one self-contained HTML file about a saved run or a study.

`sentences` states the findings, `figures` draws them, `sections` combines both into what the templates print, and
`html_report` reads the run and writes the file. Nothing here trains, scores or selects, and the file works offline.
"""

from __future__ import annotations

from .html_report import write_run_report, write_study_report

__all__ = ["write_run_report", "write_study_report"]
