"""Lists of ids as plain memory."""

from __future__ import annotations

from array import array
from typing import Any

import pytest

_core = pytest.importorskip("lopt_plugin.native._core")

LISTS = {
    "none": [],
    "one": [7],
    "ids": [(n * 2654435761) % 151_936 for n in range(10_000)],
    "extremes": [2**63 - 1, -(2**63), 0, -1, 2**30, 2**31, 2**60, -(2**62)],
}


@pytest.mark.parametrize("ids", LISTS.values(), ids=LISTS)
def test_copied(ids: list[int]) -> None:
    expected = array("q", ids)
    out = array("q", [99]) * len(ids)
    assert _core.copy_ids(ids, out)
    assert out == expected
    # Memory that does not begin at a multiple of eight.
    room = bytearray(8 * len(ids) + 3)
    assert _core.copy_ids(ids, memoryview(room)[3:])
    assert room[3:] == expected.tobytes()


class OwnInt(int):
    """Might be anything to Python."""


@pytest.mark.parametrize("wrong", [2**63, -(2**63) - 1, 2**200, True, OwnInt(5), 1.0, "1", None, [1]])
@pytest.mark.parametrize("place", [0, 50, 99])
def test_what_is_no_plain_int(wrong: Any, place: int) -> None:
    ids: list[Any] = list(range(100))
    ids[place] = wrong
    assert not _core.copy_ids(ids, array("q", bytes(800)))


def test_wrong_buffers() -> None:
    for size in (0, 8, 15, 17, 24):
        with pytest.raises(ValueError, match="eight bytes"):
            _core.copy_ids([1, 2], bytearray(size))
    with pytest.raises(BufferError):
        _core.copy_ids([1], bytes(8))
    with pytest.raises(BufferError):
        _core.copy_ids([1, 2], memoryview(bytearray(32))[::2])
    for wrong in (3, None, [0]):
        with pytest.raises(TypeError):
            _core.copy_ids([1], wrong)
    for wrong in ((1,), None, array("q", [1])):
        with pytest.raises(TypeError):
            _core.copy_ids(wrong, bytearray(8))
