"""Text for durations and sizes, the same in sentences, tables and figures."""

from __future__ import annotations

__all__ = ["GAP", "MINUS", "bytes_text", "seconds_text"]


MINUS, GAP = "\N{MINUS SIGN}", "\N{NO-BREAK SPACE}"


def seconds_text(value: float) -> str:
    """Format a duration: 0.0042 s, 0.42 s, 12.3 s, 4 min 05 s, 2 h 10 min."""
    if 0 < value < 0.095:
        return f"{value:.2g}{GAP}s"
    if value < 1:
        return f"{value:.2f}{GAP}s"
    if value < 99.5:
        return f"{value:.1f}{GAP}s"
    if value < 5970:
        minutes, seconds = divmod(round(value), 60)
        return f"{minutes}{GAP}min {seconds:02d}{GAP}s"
    hours, minutes = divmod(round(value / 60), 60)
    return f"{hours:,}{GAP}h {minutes:02d}{GAP}min"


def bytes_text(value: float) -> str:
    """Format a size: 12 bytes, 3.4 MB."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 999.5:
            return f"{value:.3g}{GAP}{unit}"
        value /= 1000
    return f"{value:,.3g}{GAP}TB"
