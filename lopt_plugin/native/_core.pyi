from collections.abc import Callable
from typing import Any, Literal, TypeAlias, overload

import numpy as np
import numpy.typing as npt

NormalizerStep: TypeAlias = (
    tuple[Literal["form"], str, Callable[[str], str]]
    | tuple[Literal["form"], str, Callable[[str], str], Callable[[str], list[tuple[int, int]]] | None]
    | tuple[Literal["characters"], list[tuple[int, str]]]
    | tuple[Literal["replace"], str, str]
    | tuple[Literal["replace_runs"], str, int, bool, str]
    | tuple[Literal["strip"], str, bool, bool]
    | tuple[Literal["prepend"], str]
    | tuple[Literal["precompiled"], bytes, str, str, Callable[[str], str]]
    | tuple[Literal["reference"], Callable[[str], str]]
)

class NeedsReference(ValueError):  # noqa: N818 - a reason, not an error
    """The reference has to answer, for the reason that the message gives. Any other exception is a mistake."""

class LoneSurrogateError(NeedsReference): ...
class OffsetsUnknownError(NeedsReference): ...

class TextsAhead:
    """Texts that worker threads encode meanwhile. What they have not begun when it is deleted is left out."""

    def take(self, place: int) -> list[int]:
        """What `encode` gives for the text at that place.

        Waits for it if it is begun, and encodes what is not, up to there, on this thread. Raises IndexError, and what
        `encode` raises for that text.
        """

    def __len__(self) -> int:
        """How many texts there are."""

class Intervals:
    """How many ids each part of one text has as a text of its own."""

    def count(self, start: int, end: int) -> int:
        """Of characters [start, end); IndexError where they lie outside the text."""

    def bytes(self) -> int:
        """Memory besides the text."""

class TokenTable:
    """What each id adds to a text."""

def token_table(
    *,
    tokens: list[str | None],
    added: list[str | None],
    firsts: list[str | None],
    special: list[int],
    byte_alphabet: str | None,
    byte_tokens: list[tuple[int, int]],
    stripped: str,
    most_stripped: int,
) -> TokenTable:
    """The table of a vocabulary; place i of the lists is for id i, and None where there is none.

    added, firsts: what a token adds to a text, and what it adds where it is the first one.
    special: the ids that are left out where special tokens are skipped.
    byte_alphabet: the characters of the bytes 0 to 255 that tokens consist of; then `added` and `firsts` do not count.
    byte_tokens: ids that stand for one byte, and that byte.
    stripped, most_stripped: an ASCII character that is taken off the beginning of a text, at most so many times.

    Raises ValueError for lists of other lengths, or an alphabet that is none.
    """

class Decoder:
    """Decodes as long as `allow` and `stop` let it; otherwise, and where ids are not plain ints, the answer is None."""

    def __init__(self, table: TokenTable) -> None: ...
    def allow(self, calls: int) -> None:
        """The next calls, so many, are answered."""

    def stop(self) -> None:
        """No call is answered until `allow`."""

    def is_allowed(self) -> bool:
        """Whether the next call is answered."""

    def decode(self, ids: Any, skip_special_tokens: Any) -> str | None:
        """The text of an id or a list of ids."""

    def decode_rows(self, rows: Any, skip_special_tokens: Any) -> list[str] | None:
        """The text of each list of a list."""

    def tokens(self, ids: Any) -> list[str | None] | None:
        """The token of each id of a list; None for ids that the table does not have."""

    @property
    def table(self) -> TokenTable: ...
    @property
    def calls(self) -> int:
        """How many calls were answered."""

    @property
    def bytes(self) -> int:
        """Memory of the table."""

class DecodeStream:
    """As `tokenizers.decoders.DecodeStream`, for the tokenizer of a Decoder.

    `otherwise(stream, id, invalid)` answers a step that the decoder may not answer, or that has an invalid prefix.
    """

    def __init__(
        self, decoder: Decoder, ids: list[int], skip_special_tokens: bool, otherwise: Callable[..., Any]
    ) -> None: ...
    def step(self, id: int | list[int]) -> str | None:
        """Adds ids; the next part of the text, if there is one."""

    def state(self) -> tuple[list[int], str, int]:
        """The ids that may still matter, the text of the first of them, and how many these are."""

    def go_on(self, decoder: Decoder | None, ids: list[int], prefix: str, prefix_ids: int) -> None:
        """Goes on from such a state, with another decoder if one is given."""

    @property
    def skip_special_tokens(self) -> bool: ...

class CompiledTokenizer:
    """A tokenizer from a compiled file, through the C interface (include/lopt.h)."""

    version: str
    """Of the files that can be opened."""

    def __init__(self, path: str) -> None:
        """Raises ValueError where the file cannot be read, is damaged, or is of another version."""

    def encode(self, text: bytes, add_special_tokens: bool, split_special_tokens: bool) -> list[int]:
        """The ids of a text in UTF-8. Raises NeedsReference, and ValueError for bytes that are not UTF-8."""

    @property
    def source(self) -> str:
        """What the file was compiled from."""

def ids_within(ids: list[int], largest: int) -> bool:
    """Whether all elements are plain ints from 0 to `largest`; true of an empty list."""

def copy_ids(ids: list[int], out: Any) -> bool:
    """Writes the ids to a buffer, as int64 in the order of bytes of the machine; False where one is no int64.

    What was written is of no use then. Raises ValueError for a buffer that has not eight bytes for each, and
    BufferError for one that cannot be written.
    """

def build_description() -> str:
    """The compiler, the processor and the vectors in use: "g++ 12.2.0 for x86-64 with SSE2"."""

def _covers_layouts(version_hex: int) -> bool:
    """Whether a CPython with that `sys.hexversion` is among those whose layouts the core was checked for; for tests."""

def _trust_layouts(wanted: bool) -> bool:
    """Has the core use CPython's private layouts, if it may, or the public API alone; for tests.

    Returns whether they were trusted before.
    """

def idle_cores(load: str, cores: int) -> int | None:
    """Of so many cores, those on which nothing runs, by a line of /proc/loadavg; None if that does not say it.

    A long text gets no more threads than these and the caller's, or half of those it may have, where its chunks are not
    given.
    """

class GrowingWord:
    """One long word of letters: appending to it costs what is appended, whatever is there. Not for several threads."""

    def append(self, text: str) -> bool:
        """False where it is no such word any more; the object is of no use then."""

    def count(self) -> int:
        """How many ids it has."""

    def ids(self) -> list[int]:
        """Its ids, in time that grows with them only."""

class SettledIds:
    """Ids of a text that grows, four bytes each; of `settled_ids` of a core."""

    def __len__(self) -> int: ...
    def list_from(self, before: list[int], start: int) -> list[int]:
        """A new list: `before`, and then the ids from number `start` on."""

class _AnyCore:
    """What the cores have in common; at run time they have no base."""

    def encode(
        self,
        text: str,
        threads: int = 1,
        chunk_bytes: int = 0,
        split_special_tokens: bool = False,
        first_id: int = -1,
    ) -> list[int]:
        """Ids of one text, without those of the post-processor.

        chunk_bytes: length of the chunks, in bytes of UTF-8; 0: `default_chunk_bytes` of the text's length.
        first_id: an id to begin the list with, or a negative number.
        Raises LoneSurrogateError; ValueError for a text of more than 2**30 characters, or a first_id above all others.
        """

    def encode_array(
        self, text: str, threads: int = 1, chunk_bytes: int = 0, split_special_tokens: bool = False
    ) -> npt.NDArray[np.int32]:
        """`encode` as int32 [n]."""

    def remember_prefixes(
        self,
        limit_bytes: int,
        block_characters: int = 1024,
        hash_bits: int = 64,
        least_characters: int = 0,
        secret: int | None = None,
    ) -> None:
        """Turns the prefix cache on: texts are held with their ids for those that begin alike. To be called first.

        limit_bytes: most memory for that; the text that was used least recently goes first.
        block_characters: texts are found by blocks of that length, and divided at seams about that far apart.
        hash_bits: fewer make blocks collide, for tests.
        least_characters: texts that are shorter, or shorter than two blocks, are neither held nor looked up.
        secret: what the hashes depend on, 64 bits; None: random.
        """

    def trust_seams(self) -> None:
        """Says that texts keep their ids when they are divided at seams. Before that, only whole texts are known."""

    def prefix_counters(self) -> dict[str, int]:
        """Counts of the prefix cache; empty where it is off.

        lookups, hits: texts that were long enough, and those of which a part or all was known; bytes_saved: UTF-8 that
        was not tokenized again; evictions: of texts; texts, bytes, limit_bytes: now.
        """

    def id_count(self) -> int:
        """Ids are below this number."""

    def new_prefix_counts(self) -> dict[str, int]:
        """How much lookups, hits, bytes_saved and evictions have grown since this was last asked; empty if none has."""

    def encode_batch(
        self, texts: list[str], threads: int = 1, split_special_tokens: bool = False
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Ids int32 [n] of all texts, and row offsets int64 [texts + 1]."""

    def encode_batch_lists(
        self, texts: list[str], threads: int = 1, split_special_tokens: bool = False
    ) -> list[list[int]]:
        """`encode` of each text; the rows are shared out among the threads."""

    def encode_ahead(self, texts: list[str], workers: int, split_special_tokens: bool = False) -> TextsAhead:
        """`encode` of each text, begun on that many worker threads while the caller goes on."""

    def list_of(self, ids: npt.NDArray[np.int32]) -> list[int]:
        """A list of the integers that `encode` makes its lists of; int32 [n], contiguous, on the host.

        Raises ValueError for what is no id of this core.
        """

    def packed_sizes(self, texts: list[str], threads: int = 1) -> npt.NDArray[np.int64]:
        """Of each text, its bytes in UTF-8, and 1 if the normalizer may change it, 0 if it does not: [texts, 2].

        A lone surrogate counts three bytes; `pack` refuses it.
        """
    def pack(
        self,
        texts: list[str],
        out: npt.NDArray[np.uint8],
        prefix: list[int],
        suffix: list[int],
        split_special_tokens: bool = False,
        threads: int = 1,
        part_characters: int = 65536,
    ) -> tuple[int, npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """UTF-8 of the texts into `out`, rows taken apart by bytes 0xFF; how many, where these are, and their ids.

        Such a byte stands in the place of an added token, found as in a text that the normalizer leaves as it is; of
        each id of `prefix` and `suffix` around a text; and, with id -2, behind a text without a suffix. Bytes written;
        positions, ids: int32 [separators]; numbers of those separators that rows end with: int32 [texts].

        out: uint8, contiguous, on the host; four bytes a character, and as many as there are such ids around each text,
        at least one, are always enough. part_characters: longer texts are cut for the threads.
        Raises LoneSurrogateError and, where there is no room, ValueError; `out` is then of undefined contents.
        """

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
        first_id: int = -1,
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
        first_id: int = -1,
    ) -> tuple[list[int], list[tuple[int, int]]]:
        """Ids [n], and the characters of the text as it was given that each stands for, [n, 2]: begin and end.

        limit: how many ids are kept at most, the last ones if keep_end.
        trim_blanks: what the ByteLevel and Roberta post-processors call trim_offsets; spare_first: their
            add_prefix_space.
        first_id: lists begin with this id and (0, 0), if it is not negative.
        Raises OffsetsUnknownError where the reference library has to be asked, and what `encode` raises.
        """

    def encode_words(
        self,
        words: list[str],
        split_special_tokens: bool = False,
        with_offsets: bool = False,
        trim_blanks: bool = False,
        spare_first: bool = False,
        as_lists: bool = False,
    ) -> tuple[
        npt.NDArray[np.int32] | list[int], npt.NDArray[np.int32], npt.NDArray[np.int32] | list[tuple[int, int]] | None
    ]:
        """Ids [n] of each word by itself, one after the other; how many each has, [words]; their offsets in it, [n, 2].

        Raises what `encode_with_offsets` raises.
        """

    # Seams: places at which a text may be taken apart, whatever stands before and behind (seam.hpp).
    def first_seam(self, text: str, begin: int = 0, end: int | None = None) -> int | None:
        """The first seam p, begin <= p < end, p > 0; None where there is none.

        The ids of any text with `text[p - 1:end]` in it are those of what stands before p, by itself, and those of what
        follows, as `encode_part(..., inside=True)` gives them; so also of `text[:end]` with anything behind it.
        """

    def last_seam(self, text: str, begin: int = 0, end: int | None = None) -> int | None:
        """The same for the last seam p, begin < p < end. Looks backwards, no further than to there."""

    def last_group(self, text: str) -> int | None:
        """The last place that divides the row of digits at the beginning of a text of its own, or one behind a seam.

        Only what stands before the row says so: behind another beginning it is no such place.
        """

    def encode_part(
        self,
        text: str,
        begin: int = 0,
        end: int | None = None,
        inside: bool = False,
        split_special_tokens: bool = False,
        threads: int = 1,
        chunk_bytes: int = 0,
    ) -> list[int]:
        """`encode` of characters [begin, end) as a text of its own; `inside`: as what follows a seam.

        Positions are in characters; IndexError where they lie outside the text.
        """

    def settled_ids(self, first: SettledIds | None = None, count: int = 0) -> SettledIds:
        """A copy of the first ids of `first`, at most `count`; without it, none yet. Errors: see `settle_part`."""

    def settle_part(
        self,
        settled: SettledIds,
        text: str,
        begin: int = 0,
        end: int | None = None,
        inside: bool = False,
        split_special_tokens: bool = False,
        threads: int = 1,
    ) -> None:
        """Appends what `encode_part` gives. ValueError where `settled` is of another core."""

    def encode_first(self, text: str, most: int, threads: int = 1, split_special_tokens: bool = False) -> list[int]:
        """The first `most` ids of `encode`, or all; the rest of the text is only searched for lone surrogates."""

    def count(self, text: str, threads: int = 1, split_special_tokens: bool = False) -> int:
        """How many ids `encode` gives."""

    def count_batch(self, texts: list[str], threads: int = 1, split_special_tokens: bool = False) -> list[int]:
        """`count` of each text; texts, and parts of long ones, are shared out among the threads."""

    def count_until(self, text: str, limit: int, split_special_tokens: bool = False) -> int | None:
        """`count`, or None if that is more than `limit`. The text behind that many ids is not read."""

    def cut(self, text: str, most: int, split_special_tokens: bool = False, long_word: int = 512) -> int:
        """The length, in characters, of the longest prefix that has at most `most` ids as a text of its own.

        long_word: a part between seams of at least so many characters is not encoded once for each prefix.
        """

    def default_chunk_bytes(self, text_bytes: int, threads: int) -> int: ...
    def info(self) -> dict[str, int | bool]:
        """Bytes of the tables and of the integer objects; of Core, whether words are matched or merged by rank."""

class Core(_AnyCore):
    """Text to ids for one BPE pipeline. Immutable; shared by threads; survives fork.

    vocabulary: entry in the byte-level alphabet to id, all below 2**20 - 1.
    merges: the JSON of a list of "left right" or [left, right], by rank.
    class_pages, class_cells, compose_pairs: the tables of `character_classes`, little endian.
    byte_classes: 256 bytes, for the stand-in of each byte: 1 numeric, 2 punctuation.
    refinements: (matcher, behavior, invert, after_byte_level).
    normalizer: steps in order, each a tuple:
        ("form", "NFC", function, align), or another form's name; the function normalizes, and is asked about short
            texts only; align, which may be left out: for a text, the characters of it that each character of its
            normalized form came from; without it, offsets of texts that may change raise OffsetsUnknownError;
        ("characters", [(code point, what it becomes), ...]), all characters that the step changes;
        ("replace", text, by);
        ("replace_runs", characters, least, each, by): runs of so many of these characters, or, each, every single one;
        ("strip", white space, left, right);
        ("prepend", text);
        ("precompiled", character map, characters that are in one grapheme cluster with one before them, with one after
            them, function): the function is asked about the few places where clusters may matter;
        ("reference", function): the function is asked about whole stretches.
    form_pages, form_cells: the table of `character_classes.normalizers`; needed for all forms but NFC.
    added_tokens: (content, id, single_word, lstrip, rstrip, normalized, special); a normalized token's content arrives
        normalized.
    dropped_bytes: the bytes of UTF-8 that may lack an entry; they are taken out of a pre-token before BPE.
    end_of_word_suffix: what the model puts behind the last character of a word; "" where it does not.
    unknown_characters: (unk_token, fuse_unk, byte_fallback) of a model over characters, whose entries are spelled as
        they are, with U+2581 for the blank; None for a byte-level model.
    blank_signs: (in_normalizer, normalizer_prepends, prepend_scheme): the text's blanks and U+2581 are one character,
        from the normalizer on or only behind the added tokens; see pipeline.SpaceNormalizer and pipeline.Metaspace.
        Contents of normalized tokens then arrive with blanks for U+2581, where the normalizer makes them one.

    Raises ValueError, with the reason, for what it cannot do exactly.
    """

    def __init__(
        self,
        *,
        vocabulary: dict[str, int],
        merges: bytes,
        ignore_merges: bool,
        class_pages: bytes,
        class_cells: bytes,
        compose_pairs: bytes,
        byte_classes: bytes,
        scanner: str,
        refinements: list[tuple[str, str, bool, bool]],
        add_prefix_space: bool,
        normalizer: list[NormalizerStep],
        added_tokens: list[tuple[str, int, bool, bool, bool, bool, bool]],
        dropped_bytes: bytes = b"",
        form_pages: bytes = b"",
        form_cells: bytes = b"",
        end_of_word_suffix: str = "",
        unknown_characters: tuple[str | None, bool, bool] | None = None,
        blank_signs: tuple[bool, bool, str] | None = None,
    ) -> None: ...
    def growing_word(self, text: str) -> GrowingWord | None:
        """A text that is one row without a seam, of letters for instance, to which more is added; None for others."""

    def intervals(self, text: str, split_special_tokens: bool = False) -> Intervals:
        """Counts of the parts of a text, after one pass over it."""

    def pre_tokens(self, text: str) -> npt.NDArray[np.int64]:
        """The first byte and the end of each pre-token of one stretch, [n, 2], without added tokens and normalizer."""

    def normalize(self, text: str) -> str:
        """One stretch as the normalizer leaves it."""

    def encode_word(self, data: bytes, by_rank: bool) -> list[int]:
        """BPE of one pre-token, by merge rank or by matching; both give the same."""

    def encode_pre_tokens(
        self, text: npt.NDArray[np.uint8], begins: npt.NDArray[np.int32], ends: npt.NDArray[np.int32], threads: int = 1
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """BPE of the pre-tokens at these bytes of a text: the ids of all, one after the other, and how many each has.

        Entries of a vocabulary that ignores merges are not looked up. Raises ValueError for places outside of the text.
        """

class WordPieceIntervals:
    """As Intervals."""

    def count(self, start: int, end: int) -> int: ...
    def bytes(self) -> int: ...

_WordCharacters = tuple[bytes, bytes, bytes, bytes, bytes]

class UnigramIntervals:
    """As Intervals."""

    def count(self, start: int, end: int) -> int: ...
    def bytes(self) -> int: ...

class WordPieceCore(_AnyCore):
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
    def growing_word(self, text: str) -> None: ...
    def intervals(self, text: str, split_special_tokens: bool = False) -> WordPieceIntervals:
        """As `Core.intervals`."""

class UnigramCore(_AnyCore):
    """Text to ids for one Unigram pipeline. Immutable; shared by threads; survives fork.

    names, scores: of the pieces, by id.
    unknown_id: of unknown characters, one for a run of them.
    byte_fallback: unknown characters become the pieces of their bytes, where there are such.
    scanner: "whitespace_split", words between `white_space`, each of which U+2581 begins; "metaspace", where each space
        begins a word; or "whole", where nothing does.
    prepend_scheme: of Metaspace.
    The other arguments: as for Core.

    Raises ValueError, with the reason, for what it cannot do exactly.
    """

    def __init__(
        self,
        *,
        names: list[str],
        scores: list[float],
        unknown_id: int,
        byte_fallback: bool,
        scanner: str,
        white_space: str,
        prepend_scheme: str,
        class_pages: bytes,
        class_cells: bytes,
        compose_pairs: bytes,
        normalizer: list[NormalizerStep],
        form_pages: bytes,
        form_cells: bytes,
        added_tokens: list[tuple[str, int, bool, bool, bool, bool, bool]],
    ) -> None: ...
    def growing_word(self, text: str) -> None: ...
    def intervals(self, text: str, split_special_tokens: bool = False) -> UnigramIntervals:
        """As `Core.intervals`."""
