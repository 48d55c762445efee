"""What normalizers do, step by step; each step is a function from text to text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
SingleCharacters = Literal["Lowercase", "StripAccents", "Nmt"]


@dataclass(frozen=True)
class NormalizationForm:
    form: Form


@dataclass(frozen=True)
class MapCharacters:
    """A normalizer that looks at each character alone."""

    kind: SingleCharacters


@dataclass(frozen=True)
class Strip:
    left: bool
    right: bool


@dataclass(frozen=True)
class Prepend:
    """An empty stretch stays empty."""

    text: str


@dataclass(frozen=True)
class ReplaceText:
    text: str
    content: str


@dataclass(frozen=True)
class ReplaceRuns:
    r"""Runs of characters, as long as they are.

    of: "blanks" (`\s`), or the one character that it is.
    least: shorter runs stay; each: every single character is replaced instead.
    """

    of: str
    least: int
    each: bool
    content: str


@dataclass(frozen=True)
class ByReference:
    """What only Hugging Face can do, a whole stretch at a time; `state` is the component's JSON."""

    kind: str
    state: str


NormalizerStep: TypeAlias = (
    NormalizationForm | MapCharacters | Strip | Prepend | ReplaceText | ReplaceRuns | ByReference
)


@dataclass(frozen=True)
class BlankNormalizer:
    """Every blank becomes U+2581; `prepends`: and each stretch gets one more in front."""

    prepends: bool
