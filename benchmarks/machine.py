"""What a benchmark says of the machine it ran on."""

from __future__ import annotations

import platform
from pathlib import Path


def processor() -> str:
    """The CPU's name as the system has it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
