from collections.abc import Callable

import numpy as np
import numpy.typing as npt

class LoneSurrogateError(ValueError): ...

class Core:
    """Text to ids for one byte-level BPE pipeline. Immutable; shared by threads; survives fork.

    vocabulary: entry in the byte-level alphabet to id, all below 2**20 - 1.
    merges: "left right" or [left, right], by rank.
    class_pages, class_cells, compose_pairs: the tables of `character_classes`, little endian.
    byte_classes: 256 bytes, for the stand-in of each byte: 1 numeric, 2 punctuation.
    refinements: (matcher, behavior, invert, after_byte_level).
    normalize: the reference library's NFC, called for short stretches only; None for no normalizer.
    added_tokens: (content, id, single_word, lstrip, rstrip, normalized, special); a normalized token's content arrives
        normalized.
    dropped_bytes: the bytes of UTF-8 that may lack an entry; they are taken out of a pre-token before BPE.

    Raises ValueError, with the reason, for what it cannot do exactly.
    """

    def __init__(
        self,
        *,
        vocabulary: dict[str, int],
        merges: list[str] | list[list[str]],
        ignore_merges: bool,
        class_pages: bytes,
        class_cells: bytes,
        compose_pairs: bytes,
        byte_classes: bytes,
        scanner: str,
        refinements: list[tuple[str, str, bool, bool]],
        add_prefix_space: bool,
        normalize: Callable[[str], str] | None,
        added_tokens: list[tuple[str, int, bool, bool, bool, bool, bool]],
        dropped_bytes: bytes = b"",
    ) -> None: ...
    def encode(
        self, text: str, threads: int = 1, chunk_bytes: int = 0, split_special_tokens: bool = False
    ) -> list[int]:
        """Ids of one text, without those of the post-processor.

        chunk_bytes: length of the chunks, in bytes of UTF-8; 0: `default_chunk_bytes` of the text's length.
        Raises LoneSurrogateError; ValueError for a text of more than 2**30 characters.
        """

    def encode_array(
        self, text: str, threads: int = 1, chunk_bytes: int = 0, split_special_tokens: bool = False
    ) -> npt.NDArray[np.int32]:
        """`encode` as int32 [n]."""

    def encode_batch(
        self, texts: list[str], threads: int = 1, split_special_tokens: bool = False
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Ids int32 [n] of all texts, and row offsets int64 [texts + 1]."""

    def pre_tokens(self, text: str) -> list[tuple[int, int]]:
        """Byte offsets, in UTF-8, of the pre-tokens of one stretch: no added tokens, no normalizer."""

    def encode_word(self, data: bytes, by_rank: bool) -> list[int]:
        """BPE of one pre-token, by merge rank or by matching; both give the same."""

    def default_chunk_bytes(self, text_bytes: int, threads: int) -> int: ...
    def info(self) -> dict[str, int | bool]:
        """Bytes of the tables and of the integer objects; whether words are matched or merged by rank."""

_WordCharacters = tuple[bytes, bytes, bytes, bytes, bytes]

class WordPieceCore:
    """Text to ids for one WordPiece pipeline. Immutable; shared by threads; survives fork.

    vocabulary: entry to id, all below 2**20 - 1.
    unknown_id: of a word that cannot be matched, or has more than `max_characters` characters when normalized.
    continuing_prefix: of the entries that match behind a word's first piece.
    characters: `WordCharacters.as_bytes()` of the text that is cut into words: the raw text, which is then normalized
        word by word, or, with `text_characters`, the normalized text.
    text_characters: those of the normalizer, for added tokens that are looked for in all the normalized text; or None.
    order: decomposes, orders and strips a run of characters, as the normalizer does before it lowers case; called for
        the few runs in which that is no matter of single characters. None where accents stay.
    added_tokens: as for Core.

    Raises ValueError, with the reason, for what it cannot do exactly.
    """

    def __init__(
        self,
        *,
        vocabulary: dict[str, int],
        unknown_id: int,
        continuing_prefix: str,
        max_characters: int,
        characters: _WordCharacters,
        text_characters: _WordCharacters | None,
        order: Callable[[str], str] | None,
        added_tokens: list[tuple[str, int, bool, bool, bool, bool, bool]],
    ) -> None: ...
    def encode(
        self, text: str, threads: int = 1, chunk_bytes: int = 0, split_special_tokens: bool = False
    ) -> list[int]:
        """As `Core.encode`."""

    def encode_array(
        self, text: str, threads: int = 1, chunk_bytes: int = 0, split_special_tokens: bool = False
    ) -> npt.NDArray[np.int32]:
        """`encode` as int32 [n]."""

    def encode_batch(
        self, texts: list[str], threads: int = 1, split_special_tokens: bool = False
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Ids int32 [n] of all texts, and row offsets int64 [texts + 1]."""

    def default_chunk_bytes(self, text_bytes: int, threads: int) -> int: ...
    def info(self) -> dict[str, int | bool]:
        """Bytes of the tables and of the integer objects."""
