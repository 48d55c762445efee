from collections.abc import Callable
from typing import Literal, overload

import numpy as np
import numpy.typing as npt

class LoneSurrogateError(ValueError): ...
class OffsetsUnknownError(ValueError): ...

class Core:
    """Text to ids for one byte-level BPE pipeline. Immutable; shared by threads; survives fork.

    vocabulary: entry in the byte-level alphabet to id, all below 2**20 - 1.
    merges: "left right" or [left, right], by rank.
    class_pages, class_cells, compose_pairs: the tables of `character_classes`, little endian.
    byte_classes: 256 bytes, for the stand-in of each byte: 1 numeric, 2 punctuation.
    refinements: (matcher, behavior, invert, after_byte_level).
    normalize: the reference library's NFC, called for short stretches only; None for no normalizer.
    align: for a text, the characters of it that each character of its normalized form came from; without it, offsets of
        texts that the normalizer may change raise OffsetsUnknownError.
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
        align: Callable[[str], list[tuple[int, int]]] | None = None,
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

    def encode_batch_lists(
        self, texts: list[str], threads: int = 1, split_special_tokens: bool = False
    ) -> list[list[int]]:
        """`encode` of each text; the rows are shared out among the threads."""

    @overload
    def encode_with_offsets(
        self,
        text: str,
        threads: int = 1,
        chunk_bytes: int = 0,
        split_special_tokens: bool = False,
        trim_blanks: bool = False,
        spare_first: bool = False,
        limit: int | None = None,
        keep_end: bool = False,
        as_lists: Literal[False] = False,
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]: ...
    @overload
    def encode_with_offsets(
        self,
        text: str,
        threads: int = 1,
        chunk_bytes: int = 0,
        split_special_tokens: bool = False,
        trim_blanks: bool = False,
        spare_first: bool = False,
        limit: int | None = None,
        keep_end: bool = False,
        *,
        as_lists: Literal[True],
    ) -> tuple[list[int], list[tuple[int, int]]]:
        """Ids [n], and the characters of the text as it was given that each stands for, [n, 2]: begin and end.

        limit: how many ids are kept at most, the last ones if keep_end.
        trim_blanks: what the ByteLevel and Roberta post-processors call trim_offsets; spare_first: their
            add_prefix_space.
        Raises OffsetsUnknownError where the reference library has to be asked, and what `encode` raises.
        """

    def pre_tokens(self, text: str) -> list[tuple[int, int]]:
        """Byte offsets, in UTF-8, of the pre-tokens of one stretch: no added tokens, no normalizer."""

    def encode_word(self, data: bytes, by_rank: bool) -> list[int]:
        """BPE of one pre-token, by merge rank or by matching; both give the same."""

    def default_chunk_bytes(self, text_bytes: int, threads: int) -> int: ...
    def info(self) -> dict[str, int | bool]:
        """Bytes of the tables and of the integer objects; whether words are matched or merged by rank."""
