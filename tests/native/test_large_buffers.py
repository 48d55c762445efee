"""A buffer that grows beyond the heap, and from one mapping into a larger one, keeps what it holds."""

from __future__ import annotations

import native_cores
import numpy as np
import pytest

TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")


@pytest.mark.every_parameter
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("count", [262_144 - 1_024, 262_145, 1_048_576, 1_500_000])
def test_ids_of_many_megabytes(count: int, threads: int) -> None:
    """Blocks of a megabyte and more are mapped, so the ids move from the heap, and then from mapping to mapping."""
    core, reference = native_cores.core_and_reference("qwen3")
    which = np.random.default_rng(count).integers(0, len(TOKENS), count)
    text = "".join(np.array(TOKENS)[which].tolist())
    expected = np.array([reference.token_to_id(token) for token in TOKENS])[which]
    found = core.encode_array(text, threads)
    assert np.array_equal(found, expected)
    assert core.encode(text, threads) == expected.tolist()
