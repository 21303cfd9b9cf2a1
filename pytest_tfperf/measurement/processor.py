"""Which processor this is, as exactly as Linux tells."""

from __future__ import annotations

import platform
import re
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")

# What TensorFlow's CPU kernels (oneDNN, Eigen, XLA) choose their code by. A hypervisor can hide any of them.
_VECTORS = ("avx", "avx2", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16", "amx_int8",
            "asimd", "bf16", "sve", "sve2")  # fmt: skip
_GENERATION = (("cpu family", "family"), ("model", "model"), ("CPU implementer", "implementer"), ("CPU part", "part"))


def cpu_model(cpuinfo: Path = CPUINFO) -> str:
    """Name the processor; the bare architecture where neither Linux nor Python knows more.

    Virtual machines call it by the family's name alone, ``AMD EPYC`` or ``Intel(R) Xeon(R) CPU @ 2.20GHz``, under which
    clouds have generations that differ several times in speed. Where the name has no model number, the numbers that
    tell generations apart stand behind it: ``AMD EPYC (family 26, model 2)``.
    """
    text = _read(cpuinfo)
    name = " ".join((_field(text, "model name") or platform.processor() or platform.machine() or "unknown").split())
    if any(_is_model_number(word) for word in name.split("@")[0].split()):
        return name
    numbers = [f"{short} {value}" for key, short in _GENERATION if (value := _field(text, key))]
    return f"{name} ({', '.join(numbers)})" if numbers else name


def vector_extensions(cpuinfo: Path = CPUINFO) -> str:
    """List the vector instructions that change the speed of TensorFlow's kernels; empty where Linux does not tell."""
    text = _read(cpuinfo)
    flags = (_field(text, "flags") or _field(text, "Features") or "").split()
    return " ".join(name for name in _VECTORS if name in flags)


def _is_model_number(word: str) -> bool:
    # 7763, 8370C, E5-2676, 9R14; and not 64-Core, 128-Core, v3, 2.5+
    return sum(letter.isdigit() for letter in word) >= 3 and "." not in word and not word.endswith("-Core")


def _field(text: str, key: str) -> str | None:
    found = re.search(rf"^{re.escape(key)}[ \t]*:[ \t]*(\S.*)$", text, re.MULTILINE)
    return found[1].strip() if found else None


def _read(cpuinfo: Path) -> str:
    try:
        return cpuinfo.read_text(errors="replace")
    except OSError:
        return ""
