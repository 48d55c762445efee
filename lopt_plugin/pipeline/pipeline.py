"""What a tokenizer does, as plain values in the terms of the native core; no Hugging Face objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from ..unicode_tables.bert import BertOptions
from .model_json import Entries, Merges
from .normalizers import NormalizerStep, SpaceNormalizer

Behavior = Literal["isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous"]


@dataclass(frozen=True)
class Refinement:
    """A split step that is applied to every pre-token of the steps before it.

    invert: swap the matches and the stretches between them.
    after_byte_level: the step sees ByteLevel's 256 stand-in characters, one for each byte of the text.
    """

    matcher: str
    behavior: Behavior
    invert: bool = False
    after_byte_level: bool = False


@dataclass(frozen=True)
class BytePairModel:
    """Byte-level BPE.

    vocabulary: from entry, in the byte-level alphabet, to id.
    merges: by rank, see `Merges`.
    ignore_merges: a pre-token that is an entry becomes that entry, whatever the merges would give.
    dropped_bytes: bytes of UTF-8 without an entry, which are removed from a pre-token before merging.
    end_of_word_suffix: follows the entries that end a pre-token; "" if the model has none.
    """

    vocabulary: Entries | dict[str, int]
    merges: Merges
    ignore_merges: bool
    dropped_bytes: bytes = b""
    end_of_word_suffix: str = ""


@dataclass(frozen=True)
class SentencePieceModel:
    """BPE over characters, as SentencePiece trains it, with U+2581 for a space.

    vocabulary: from entry to id.
    merges: by rank, see `Merges`.
    unk_token, fuse_unk, byte_fallback: a character without an entry becomes the tokens "<0x00>" to "<0xFF>" of its
        bytes with `byte_fallback`; else the unknown token, once for a whole run with `fuse_unk`.
    """

    vocabulary: Entries | dict[str, int]
    merges: Merges
    unk_token: str | None
    fuse_unk: bool
    byte_fallback: bool


PrependScheme = Literal["never", "first", "always"]


@dataclass(frozen=True)
class WordPieceModel:
    """Longest match first, from the left of a word.

    vocabulary: from entry to id.
    continuing_prefix: begins the entries that match after the first piece of a word.
    max_characters: a longer word is unknown, as is one that cannot be matched to its end.
    """

    vocabulary: dict[str, int]
    unknown_token: str
    continuing_prefix: str
    max_characters: int

    @property
    def unknown_id(self) -> int:
        return self.vocabulary[self.unknown_token]


@dataclass(frozen=True)
class UnigramModel:
    """Of all ways to divide a word into pieces, the one whose scores have the largest sum.

    pieces: by id, each with its score, exactly as the reference has it.
    byte_fallback: unknown characters become the pieces "<0x00>" to "<0xFF>" of their bytes, where there are such.
    """

    pieces: list[tuple[str, float]]
    unknown_id: int
    byte_fallback: bool


class AddedToken(NamedTuple):
    """A token that is found in the text itself; see `added_tokens`.

    content: the string to find; if `normalized`, in its normalized form.
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


class Piece(NamedTuple):
    """A part of the post-processor's result: the ids of text number `text`, or one id if that is None."""

    text: int | None
    id: int
    type_id: int


@dataclass(frozen=True)
class Template:
    """How the post-processor arranges the ids of its texts.

    sequences: `n_sequences` of the result.
    overflow_type_ids: the type id of each text in overflowing parts; None if these differ in other respects too.
    tells_texts: `sequence_ids` of a result follow the pieces, also if it is padded.
    """

    pieces: tuple[Piece, ...]
    sequences: int
    overflow_type_ids: tuple[int, ...] | None = None
    tells_texts: bool = False

    @property
    def ids_added(self) -> int:
        """The number of ids that do not come from a text."""
        return sum(piece.text is None for piece in self.pieces)


class Templates(NamedTuple):
    """Templates of one text and of a pair, with special tokens and without."""

    single: Template
    single_bare: Template
    pair: Template
    pair_bare: Template


Model: TypeAlias = BytePairModel | SentencePieceModel | WordPieceModel | UnigramModel
OffsetTrim = Literal["none", "spaces", "spaces, but one before the first token"]


@dataclass(frozen=True)
class Pipeline:
    """From text to ids: added tokens, normalizer, scanner, refinements, model, post-processor.

    scanner: the first split steps, fused into one scan of a stretch; "whole" leaves it in one piece. WordPiece's
        scanners, "bert" and "whitespace_split", drop white space. Unigram's are "whitespace_split", then Metaspace in
        each word; "metaspace", where each U+2581 begins a word; and "whole".
    add_prefix_space: a stretch that does not begin with a space gets one.
    metaspace: after added tokens are found and before the scanner, every space is replaced by U+2581, and one is put
        before a stretch that has none there: before each stretch ("always"), only before the one that begins the text
        ("first"), or not at all ("never"). None if there is no such step.
    templates: the post-processor's templates; None if Hugging Face must post-process.
    offset_trim: what the post-processor trims from a token's offsets; None if Hugging Face must do it.
    Truncation and padding are state of a call, not part of this.
    """

    normalizer: tuple[NormalizerStep, ...] | SpaceNormalizer | BertOptions
    scanner: str
    refinements: tuple[Refinement, ...]
    add_prefix_space: bool
    model: Model
    added_tokens: tuple[AddedToken, ...]
    post_processor: PostProcessor
    metaspace: PrependScheme | None = None
    templates: Templates | None = None
    offset_trim: OffsetTrim | None = None
