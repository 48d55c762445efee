"""Texts of which a step could read the same part again for every token: each part is read about once.

Each script takes a second or two where it is so, and hours where it is not: its limit measures nothing.
"""

from __future__ import annotations

import native_cores
import own_process
import pytest

_ENCODE = """
import native_cores
core = {core}
text = {unit!r} * ({characters} // len({unit!r}))
print(0 < len(core.encode(text + "x")) <= len(text) + 1)
"""


def _ends(core: str, unit: str, characters: int = 8_000_000) -> None:
    assert own_process.run(_ENCODE.format(core=core, unit=unit, characters=characters)).strip() == "True"


@pytest.mark.every_parameter
@pytest.mark.parametrize("unit", ["\n", "\t"])
def test_runs_of_a_character_that_is_an_added_token(unit: str) -> None:
    """As Gemma's: runs of up to some length are tokens, without flags."""
    _ends(f"native_cores.core_with_runs({unit!r})[0]", unit)
    core, tokenizer = native_cores.core_with_runs(unit)
    assert not native_cores.different(core, tokenizer, [unit * count + "x" for count in range(100)])


@pytest.mark.every_parameter
@pytest.mark.parametrize("flags", [(False, True, False), (False, False, True), (False, True, True), (True, True, True)])
@pytest.mark.parametrize("unit", ["\n", "\t ", "\n\n "])
def test_white_space_tokens_that_take_white_space(unit: str, flags: tuple[bool, bool, bool]) -> None:
    token = (unit[0], 1_000, *flags, False, False)
    core = "native_cores.make_core({name: i for i, name in enumerate(native_cores.STAND_INS)}, [], added_tokens=[%r])"
    _ends(core % (token,), unit, 3_000_000)
