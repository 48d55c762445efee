"""The reference for `masks.masks`: ASCII bytes to a mask for each class, and to the planes that the kernels keep."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..common.character_kinds import SEPARATOR_BYTE

Bytes = npt.NDArray[np.uint8]

_SPACES = b"\t\n\v\f\r "
_CONTROLS = bytes(code for code in [*range(0x20), 0x7F] if code not in _SPACES)


@dataclass(frozen=True)
class Masks:
    """Sets of the bytes of a text as integers: bit p is set where byte p belongs to the set.

    letter, number, newline, plain (other white space), separator and other are disjoint and make up all. upper is part
    of letter, ascii_space (U+0020) of plain; slash, control, of_two and of_three of other. The last two are the
    apostrophes of contractions of two and of three characters, apostrophe included.
    """

    size: int
    letter: int
    upper: int
    number: int
    newline: int
    plain: int
    ascii_space: int
    separator: int
    other: int
    slash: int
    control: int
    of_two: int
    of_three: int

    @property
    def all(self) -> int:
        return (1 << self.size) - 1

    def before(self, mask: int, distance: int = 1) -> int:
        """Where the byte `distance` places before is in `mask`."""
        return mask << distance & self.all

    def after(self, mask: int, beyond: int = 0) -> int:
        """Where the next byte is in `mask`; `beyond` says whether the byte after the text counts as in it."""
        return (mask | beyond << self.size) >> 1


def ascii_masks(text: Bytes, ignore_case: bool) -> Masks:
    """Masks of `text`, uint8 [n]; `ignore_case`: for contractions.

    Raises ValueError for bytes that are neither ASCII nor separators.
    """
    separator = text == SEPARATOR_BYTE
    if ((text >= 0x80) & ~separator).any():
        raise ValueError("masks are those of ASCII texts")
    upper = (text >= ord("A")) & (text <= ord("Z"))
    letter = upper | (text >= ord("a")) & (text <= ord("z"))
    number = (text >= ord("0")) & (text <= ord("9"))
    space, newline = _among(text, _SPACES), _among(text, b"\r\n")
    small = np.append(np.where(upper & ignore_case, text | 0x20, text), [0, 0])
    next_letter, third_letter = small[1:-1], small[2:]
    of_three = np.zeros_like(letter)
    for one, other in (b"re", b"ve", b"ll"):
        of_three |= (next_letter == one) & (third_letter == other)
    apostrophe = text == ord("'")
    sets = [
        *(letter, upper, number, newline, space & ~newline, text == ord(" "), separator),
        ~(letter | number | space | separator),
        *(text == ord("/"), _among(text, _CONTROLS)),
        *(apostrophe & _among(next_letter, b"stmd"), apostrophe & of_three),
    ]
    return Masks(len(text), *(_integer(places) for places in sets))


def _among(text: Bytes, wanted: bytes) -> npt.NDArray[np.bool_]:
    return np.isin(text, np.frombuffer(wanted, dtype=np.uint8))


def _integer(places: npt.NDArray[np.bool_]) -> int:
    return int.from_bytes(np.packbits(places, bitorder="little").tobytes(), "little")
