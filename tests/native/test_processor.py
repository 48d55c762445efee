"""The loops that are compiled for AVX-512, and those that are taken without it, on this processor."""

from __future__ import annotations

import os
import platform

import native_cores
import own_process
import pytest

# Qwen's, o200k's, DeepSeek's, Falcon's and RoBERTa's scanners; SentencePiece's cuts.
NAMES = ["tiny_qwen2", "tiny_o200k", "tiny_deepseek_v3", "tiny_falcon", "roberta_base", "tiny_llama2"]


@pytest.mark.every_parameter
@pytest.mark.parametrize("wanted", ["v2", "v4"])
def test_ids_are_those_of_the_reference(wanted: str) -> None:
    assert {*NAMES} <= {*native_cores.SMALL}
    own_process.run(f"""
import os
os.environ["LOPT_CPU"] = {wanted!r}
import corpus, native_cores
for name in {NAMES!r}:
    core, reference = native_cores.core_and_reference(name)
    texts = [text for family in corpus.conformance_families() for text in corpus.conformance(family, 0)]
    texts += [text[:20_000] for kind in corpus.corpora() for text in corpus.texts(kind, 60_000)]
    assert native_cores.different(core, reference, texts) == [], name
""")


def test_the_description_names_the_vectors() -> None:
    script = """
from lopt_plugin.native import _core
print(_core.build_description())
"""
    described = own_process.run(f"import os; os.environ['LOPT_CPU'] = 'v2'{script}")
    assert "AVX-512" not in described
    if platform.machine() in ("aarch64", "arm64"):
        assert "NEON" in described
    elif "avx512_vbmi2" in _processor_flags() and os.environ.get("LOPT_CPU") != "v2":
        assert "AVX-512" in own_process.run(script)


def _processor_flags() -> list[str]:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(line for line in lines if line.startswith("flags")).split()
    except (OSError, StopIteration):
        return []
