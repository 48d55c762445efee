"""What a tokenizer does, in the terms of the native core: plain values, no Hugging Face objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ..character_classes.word_characters import BertOptions
from .normalizer_steps import BlankNormalizer, NormalizerStep

if TYPE_CHECKING:
    from .merges import Merge

Behavior = Literal["isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous"]


@dataclass(frozen=True)
class Refinement:
    """A split step that is applied to every pre-token of the steps before it.

    invert: matches and what lies between them change places.
    after_byte_level: the step sees the 256 stand-in characters, one for each byte of the text.
    """

    matcher: str
    behavior: Behavior
    invert: bool = False
    after_byte_level: bool = False


@dataclass(frozen=True)
class BytePairModel:
    """Byte-level BPE.

    vocabulary: entry, in the byte-level alphabet, to id.
    merges: by rank; each [left, right], or "left right" in older files.
    ignore_merges: a pre-token that is an entry becomes that entry, whatever the merges give.
    dropped_bytes: bytes of UTF-8 that are no entry; they are taken out of a pre-token before anything is merged.
    end_of_word_suffix: stands, in the names of entries, behind what ends a pre-token; "" where the model has none.
    """

    vocabulary: dict[str, int]
    merges: Sequence[Merge]
    ignore_merges: bool
    dropped_bytes: bytes = b""
    end_of_word_suffix: str = ""


@dataclass(frozen=True)
class SentencePieceModel:
    """BPE over characters, as SentencePiece trains it, in which U+2581 stands for a blank.

    vocabulary: entry to id.
    merges: by rank; each [left, right], or "left right" in older files.
    unk_token, fuse_unk, byte_fallback: what becomes of a character that is no entry: its bytes' tokens "<0x00>" to
        "<0xFF>" with `byte_fallback`; else the unknown token, once for a whole run with `fuse_unk`.
    """

    vocabulary: dict[str, int]
    merges: Sequence[Merge]
    unk_token: str | None
    fuse_unk: bool
    byte_fallback: bool


@dataclass(frozen=True)
class Metaspace:
    """Every blank becomes U+2581, behind the added tokens; and a stretch that does not begin with one gets one.

    prepend: for each stretch ("always"), for the one with which the text begins ("first"), for none.
    """

    prepend: Literal["never", "first", "always"]


@dataclass(frozen=True)
class WordPieceModel:
    """Longest match first, from the left of a word.

    vocabulary: entry to id.
    continuing_prefix: what entries begin with that match behind a word's first piece.
    max_characters: a word with more is unknown, as is one that cannot be matched to its end.
    """

    vocabulary: dict[str, int]
    unknown_token: str
    continuing_prefix: str
    max_characters: int

    @property
    def unknown_id(self) -> int:
        return self.vocabulary[self.unknown_token]


@dataclass(frozen=True)
class AddedToken:
    """A token that is found in the text itself; `added_tokens` says how.

    content: what is looked for; where `normalized`, it is normalized as the text is.
    """

    content: str
    id: int
    single_word: bool
    lstrip: bool
    rstrip: bool
    normalized: bool
    special: bool


@dataclass(frozen=True)
class PostProcessor:
    """The ids put around those of a single text when special tokens are wanted."""

    prefix_ids: tuple[int, ...] = ()
    suffix_ids: tuple[int, ...] = ()
    token_type_ids_are_zero: bool = True


@dataclass(frozen=True)
class Piece:
    """A part of what the post-processor makes: the ids of the text number `text`, or, if that is None, `ids`."""

    text: int | None
    ids: tuple[int, ...]
    type_id: int


@dataclass(frozen=True)
class Template:
    """What the post-processor makes of the ids of its texts.

    sequences: what Hugging Face calls `n_sequences` of the result.
    overflow_type_ids: the type id of each text's parts that overflow; None where more than that is different there.
    tells_texts: `sequence_ids` of a result are what the pieces say, also where it is padded.
    """

    pieces: tuple[Piece, ...]
    sequences: int
    overflow_type_ids: tuple[int, ...] | None = None
    tells_texts: bool = False

    @property
    def ids_added(self) -> int:
        """How many ids are not those of a text."""
        return sum(len(piece.ids) for piece in self.pieces)


@dataclass(frozen=True)
class Templates:
    """Templates of one text and of a pair, with special tokens and without."""

    single: Template
    single_bare: Template
    pair: Template
    pair_bare: Template


OffsetTrim = Literal["none", "blanks", "blanks, but one in front of the first token"]


@dataclass(frozen=True)
class Pipeline:
    """From text to ids: normalizer, scanner, refinements, model; added tokens before, post-processor behind.

    scanner: the fused first split steps, one scan of a stretch of text; "whole" leaves it in one piece. The scanners of
        WordPiece, "bert" and "whitespace_split", drop blanks.
    add_prefix_space: a stretch that does not begin with a blank gets one.
    metaspace: what the pre-tokenizer of that name does before the scanner.
    templates: what the post-processor makes of one text and of two; None where that is left to Hugging Face.
    offset_trim: what the post-processor takes off the offsets of a token; None where that is left to Hugging Face.
    Truncation and padding are not part of it: they are state of a call.
    """

    normalizer: tuple[NormalizerStep, ...] | BlankNormalizer | BertOptions
    scanner: str
    refinements: tuple[Refinement, ...]
    add_prefix_space: bool
    model: BytePairModel | SentencePieceModel | WordPieceModel
    added_tokens: tuple[AddedToken, ...]
    post_processor: PostProcessor
    metaspace: Metaspace | None = None
    templates: Templates | None = None
    offset_trim: OffsetTrim | None = None
