from __future__ import annotations

import platform
from pathlib import Path

import pytest

from pytest_tfperf.measurement.processor import cpu_model, vector_extensions

ZEN_5 = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: {}\nstepping\t: 1\n"
NEOVERSE = "processor\t: 0\nFeatures\t: fp asimd bf16 sve\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n"


def cpuinfo(folder: Path, text: str) -> Path:
    (folder / "cpuinfo").write_text(text + "\nprocessor\t: 1\nmodel name\t: other\n")
    return folder / "cpuinfo"


@pytest.mark.parametrize(
    "name",
    [
        "AMD EPYC 9654 96-Core Processor",
        "AMD EPYC 9R14",
        "Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz",
        "Intel(R) Xeon(R) CPU E5-2676 v3 @ 2.40GHz",
    ],
)
def test_a_name_with_a_model_number_says_enough(tmp_path: Path, name: str) -> None:
    assert cpu_model(cpuinfo(tmp_path, ZEN_5.format(name.replace(" ", "  ") + " "))) == name


@pytest.mark.parametrize(
    "name",
    [
        "AMD EPYC",
        "AMD EPYC-Rome Processor",
        "AMD EPYC 128-Core Processor",
        "Intel(R) Xeon(R) CPU @ 2.20GHz",
        "Intel Xeon Processor (Skylake, IBRS)",
        "QEMU Virtual CPU version 2.5+",
    ],
)
def test_of_a_family_the_generation_is_told(tmp_path: Path, name: str) -> None:
    assert cpu_model(cpuinfo(tmp_path, ZEN_5.format(name))) == f"{name} (family 26, model 2)"


def test_without_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arm = cpuinfo(tmp_path, NEOVERSE).read_text().replace("model name\t: other\n", "")
    (tmp_path / "arm").write_text(arm)
    monkeypatch.setattr(platform, "processor", lambda: "")
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert cpu_model(tmp_path / "arm") == "aarch64 (implementer 0x41, part 0xd40)"
    assert cpu_model(tmp_path / "absent") == "aarch64"
    monkeypatch.setattr(platform, "processor", lambda: "Neoverse")
    assert cpu_model(tmp_path / "absent") == "Neoverse"


def test_vector_extensions(tmp_path: Path) -> None:
    text = "processor\t: 0\nflags\t\t: fpu avx512_bf16 sse2 avx avx512f avx2 amx\n"
    assert vector_extensions(cpuinfo(tmp_path, text)) == "avx avx2 avx512f avx512_bf16"
    assert vector_extensions(cpuinfo(tmp_path, NEOVERSE)) == "asimd bf16 sve"
    assert vector_extensions(tmp_path / "absent") == ""
