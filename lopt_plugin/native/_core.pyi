from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

class NeedsReference(ValueError):  # noqa: N818 - a reason, not an error
    """The reference has to answer, for the reason in the message. Any other exception is a bug."""

class LoneSurrogateError(NeedsReference): ...
class OffsetsUnknownError(NeedsReference): ...

class TextsAhead:
    """Texts that worker threads encode in the background. Texts not started when it is deleted are skipped."""

    def take(self, place: int) -> list[int]:
        """The result of `encode` for the text at that index.

        Waits for it if it was started, and encodes texts up to it that were not on this thread. Raises IndexError, and
        whatever `encode` raises for that text.
        """

    def __len__(self) -> int:
        """The number of texts."""

class TextsToPack:
    """Texts for the GPU route. Later changes of the list that they came from do not matter."""

    def chunks(
        self, added: int, around: int, most: int, longest: int
    ) -> tuple[list[tuple[npt.NDArray[np.int64], int]], npt.NDArray[np.int64]]:
        """Groups texts in order: the numbers of each group and their UTF-8 bytes; and the numbers of the others, int64.

        The others may be changed by the normalizer, or have more than `longest` bytes, `added` included. A group takes
        at most `most` bytes, `around` for each text included, or is a single text. A lone surrogate counts as three
        bytes; `pack` rejects it.
        """

    def pack(
        self,
        numbers: npt.NDArray[np.int64],
        out: npt.NDArray[np.uint8],
        prefix: list[int],
        suffix: list[int],
        split_special_tokens: bool = False,
        threads: int = 1,
    ) -> tuple[int, npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Writes the UTF-8 of the texts of these numbers to `out`, with bytes 0xFF as separators.

        A separator replaces each added token (matched as in a text that the normalizer does not change), stands for
        each id of `prefix` and `suffix` around a text, and, with id -2, follows a text without a suffix. Returns the
        number of bytes written; the positions and the ids of the separators, int32 [separators] each; and the indices
        of those separators that end rows, int32 [numbers].

        out: uint8, contiguous, on the host. The bytes of the texts, and one per id around each text (at least one),
        are always enough.
        Raises IndexError for a number that no text has, LoneSurrogateError and, if there is no room, ValueError; the
        content of `out` is then undefined.
        """

class Intervals:
    """Counts the ids of any part of one text, encoded by itself. Each kind of core has a class of its own."""

    def count(self, start: int, end: int) -> int:
        """The ids of characters [start, end). Raises IndexError if they lie outside the text."""

class ShortEncoder:
    """Encodes short texts as long as `allow` and `stop` let it; otherwise the answer is None."""

    def allow(self, calls: int) -> None:
        """The next calls, so many, are answered."""

    def stop(self) -> None:
        """No call is answered until `allow`."""

    def is_allowed(self) -> bool:
        """Whether the next call is answered."""

    def encode(self, text: Any, add_special_tokens: Any) -> list[int] | None:
        """The ids of a text; None also where the text is not a short str, or cannot be encoded."""

    def encode_batch(self, texts: Any, add_special_tokens: Any) -> list[list[int]] | None:
        """The same for each text of a list."""

    @property
    def texts(self) -> int:
        """How many texts were answered."""

class TokenTable:
    """The text that each id contributes."""

def token_table(
    *,
    tokens: list[str | None],
    added: list[str | None],
    firsts: list[str | None],
    special: list[int],
    byte_level: bool,
    byte_tokens: list[tuple[int, int]],
    stripped: str,
    most_stripped: int,
) -> TokenTable:
    """The table of a vocabulary; place i of the lists is for id i, and None where there is none.

    added, firsts: what a token adds to a text, and what it adds where it is the first one.
    special: the ids that are left out where special tokens are skipped.
    byte_level: tokens consist of the stand-ins of bytes; then `added` and `firsts` do not count.
    byte_tokens: ids that stand for one byte, and that byte.
    stripped, most_stripped: an ASCII character that is taken off the beginning of a text, at most so many times.

    Raises ValueError for lists of other lengths.
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

def decode_method(otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """The method `decode` of an accelerated tokenizer. `otherwise` answers where its native decoder does not."""

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
    """The version of the files that can be opened."""

    def __init__(self, path: str) -> None:
        """Raises ValueError if the file cannot be read, is damaged, or was written by another version."""

    def encode(self, text: bytes, add_special_tokens: bool, split_special_tokens: bool) -> list[int]:
        """The ids of a text in UTF-8. Raises NeedsReference, and ValueError for bytes that are not UTF-8."""

    @property
    def source(self) -> str:
        """What the file was compiled from."""

def ids_within(ids: list[int], largest: int) -> bool:
    """Whether all elements are plain ints from 0 to `largest`; True for an empty list."""

def with_added_ids(
    ids: npt.NDArray[np.int32], row_offsets: npt.NDArray[np.int64], before: list[int], after: list[int]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """The ids of texts, with the same ids added before and after those of each text, and where each row begins.

    Raises ValueError for offsets that do not go from 0 to the number of ids, and OverflowError for an id that is no
    int32.
    """

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
    """Makes the core use CPython's private layouts, if it may, or only the public API; for tests.

    Returns whether they were trusted before.
    """

def idle_cores(load: str, cores: int) -> int | None:
    """How many of that many cores are idle, according to a line of /proc/loadavg; None if the line does not say.

    If no chunk length is given, a long text uses no more threads than these and the caller's, or half of its maximum.
    """

class GrowingWords:
    """A long text of Unigram: appending costs only as much as the new characters. Not for several threads."""

    def append(self, text: str) -> bool:
        """False if its ids cannot be found like this any more; the object must not be used after that."""

    def count(self) -> int:
        """The number of ids."""

    def ids(self) -> list[int]:
        """Its ids, in time proportional to their number."""

class SettledIds:
    """The final ids of a growing text, four bytes each; made by a core's `settled_ids`."""

    def __len__(self) -> int: ...
    def extend(self, more: SettledIds) -> None: ...
    def list_from(self, before: list[int], start: int) -> list[int]:
        """A new list: `before`, followed by the ids from number `start` on."""

class _AnyCore:
    """What the cores have in common. At run time they have no base class. Immutable; shared by threads; survive fork.

    values: as `core_values.describe` writes them.

    Raises ValueError, with the reason, for anything it cannot do exactly.
    """

    def __init__(self, values: list[Any]) -> None: ...
    def encode(
        self,
        text: str,
        threads: int = 1,
        chunk_chars: int = 0,
        split_special_tokens: bool = False,
        first_id: int = -1,
    ) -> list[int]:
        """The ids of one text, without those of the post-processor.

        chunk_chars: length of the chunks, in characters; 0: `default_chunk_chars` of the text's length.
        first_id: an id to begin the list with, or a negative number.
        Raises LoneSurrogateError; ValueError for a text of more than 2**30 characters, or a first_id above all others.
        """

    def encode_array(
        self, text: str, threads: int = 1, chunk_chars: int = 0, split_special_tokens: bool = False
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
        """Turns the prefix cache on, which keeps texts with their ids for texts that begin alike. Must be called first.

        limit_bytes: maximum memory; the least recently used text is evicted first.
        block_characters: texts are found by blocks of that length, and divided at seams about that far apart.
        hash_bits: fewer make blocks collide, for tests.
        least_characters: texts that are shorter, or shorter than two blocks, are neither kept nor looked up.
        secret: 64 bits that the hashes depend on; None: random.
        """

    def trust_seams(self) -> None:
        """Declares that texts keep their ids when divided at seams.

        Before that, long texts are divided into chunks, and the prefix cache recognizes only whole texts.
        """

    def prefix_counters(self) -> dict[str, int]:
        """The prefix cache's counters; empty if it is off.

        lookups, hits: texts that were long enough, and those with a known prefix; bytes_saved: UTF-8 that was not
        tokenized again; evictions: number of evicted texts; texts, bytes, limit_bytes: current values.
        """

    def id_count(self) -> int:
        """All ids are below this number."""

    def new_prefix_counts(self) -> dict[str, int]:
        """The growth of lookups, hits, bytes_saved and evictions since the last call; empty if there is none."""

    def encode_batch(
        self, texts: list[str], threads: int = 1, split_special_tokens: bool = False
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Ids int32 [n] of all texts, and row offsets int64 [texts + 1]."""

    def encode_batch_lists(
        self, texts: list[str], threads: int = 1, split_special_tokens: bool = False
    ) -> list[list[int]]:
        """`encode` of each text, distributed over the threads."""

    def encode_ahead(self, texts: list[str], workers: int, split_special_tokens: bool = False) -> TextsAhead:
        """`encode` of each text, started on that many worker threads while the caller continues."""

    def lists_of(self, ids: npt.NDArray[np.int32], row_offsets: npt.NDArray[np.int64]) -> list[list[int]]:
        """Lists made of the same integer objects as `encode`'s, from ids [n] and row offsets [rows + 1] on the host.

        Raises ValueError for a number that is not an id of this core, and for offsets that do not ascend from 0 to n.
        """

    def finished_rows(
        self,
        ids: npt.NDArray[np.int32],
        row_offsets: npt.NDArray[np.int64],
        offsets: npt.NDArray[np.int32] | None,
        pairs: list[bool],
        layouts: list[tuple[Sequence[tuple[int | None, int, int]], Sequence[int] | None, int]],
        truncation: tuple[str, bool, int, bool],
        padding: tuple[int | None, int | None, str, int, int],
        as_lists: bool,
    ) -> tuple[Any, Any, Any, Any, Any, npt.NDArray[np.int64]]:
        """Rows of one text, or two for a pair, truncated, with what the post-processor adds, and padded.

        Returns ids, type ids, special tokens mask, attention mask, offsets and places; see Columns. The first four are
        arrays int64 [rows, width], offsets int32 [rows, width, 2] or None; or lists, if `as_lists`, or if the rows are
        empty or of unequal length.

        ids, row_offsets, offsets: of all texts. layouts: pieces and overflow_type_ids of Template, and how many ids of
        the texts there is room for; for one text and, if there are pairs, for two. truncation: strategy, keeps_end,
        stride, overflow. padding: the beginning of Padding.
        Raises NeedsReference where the reference has to answer, and ValueError for arguments that do not fit together.
        """

    def texts_to_pack(self, texts: list[str], threads: int = 1, part_characters: int = 65536) -> TextsToPack:
        """The texts of a batch, which are read once. part_characters: longer texts are split for the threads.

        Raises NeedsReference for a lone surrogate in a text with characters that the normalizer changes.
        """

    @overload
    def encode_with_offsets(
        self,
        text: str,
        threads: int = 1,
        chunk_chars: int = 0,
        split_special_tokens: bool = False,
        trim_spaces: bool = False,
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
        chunk_chars: int = 0,
        split_special_tokens: bool = False,
        trim_spaces: bool = False,
        spare_first: bool = False,
        limit: int | None = None,
        keep_end: bool = False,
        *,
        as_lists: Literal[True],
        first_id: int = -1,
    ) -> tuple[list[int], list[tuple[int, int]]]:
        """Ids [n], and the characters of the text as it was given that each stands for, [n, 2]: begin and end.

        limit: how many ids are kept at most, the last ones if keep_end.
        trim_spaces: what the ByteLevel and Roberta post-processors call trim_offsets; spare_first: their
            add_prefix_space.
        first_id: lists begin with this id and (0, 0), if it is not negative.
        Raises OffsetsUnknownError where the reference library has to be asked, and what `encode` raises.
        """

    def encode_words(
        self,
        words: list[str],
        split_special_tokens: bool = False,
        with_offsets: bool = False,
        trim_spaces: bool = False,
        spare_first: bool = False,
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32] | None]:
        """Ids [n] of each word by itself, one after the other; how many each has, [words]; their offsets in it, [n, 2].

        Raises what `encode_with_offsets` raises.
        """

    # Seams: positions at which a text may be split, whatever surrounds them (seam.hpp).
    def first_seam(self, text: str, begin: int = 0, end: int | None = None) -> int | None:
        """The first seam p, begin <= p < end, p > 0; None if there is none.

        The ids of any text that contains `text[p - 1:end]` are those of the part before p, encoded by itself, followed
        by those of the rest, encoded by `encode_part(..., inside=True)`. The same holds for `text[:end]` followed by
        any other text.
        """

    def last_seam(self, text: str, begin: int = 0, end: int | None = None) -> int | None:
        """The same for the last seam p, begin < p < end. Searches backwards, no further than that seam."""

    def kept_parts(self, text: str) -> list[tuple[int, int]]:
        """What must be kept of a growing text: all but the middle of long runs of which no id depends on the length."""

    def settle_beginning(
        self, settled: SettledIds, text: str, inside: bool, split_special_tokens: bool
    ) -> tuple[int, bool, list[int], bool, str] | None:
        """Divides a text at the last position p at which every text that begins with it can be divided.

        Appends the ids before p to `settled`, and returns p, the `inside` by which `encode_part` encodes what
        follows it, the ids of that, whether p is final, and what to put before the text from p on. If p is not
        final, ask `ends_row` before text is appended. Unlike a seam, p depends on the beginning: the text is one of
        its own or, if `inside`, follows a seam or such a position.
        """

    def ends_row(self, text: str, more: str) -> bool | None:
        """Whether a position that was not final is, now that `more` follows the text.

        None if it still depends on what is appended next. False if it does not divide the longer text.
        """

    def encode_part(
        self,
        text: str,
        begin: int = 0,
        end: int | None = None,
        inside: bool = False,
        split_special_tokens: bool = False,
        threads: int = 1,
    ) -> list[int]:
        """`encode` of characters [begin, end) by themselves; `inside`: as the text after a seam.

        Positions are in characters. Raises IndexError if they lie outside the text.
        """

    def settled_ids(self, first: SettledIds | None = None, count: int = 0) -> SettledIds:
        """A copy of the first ids of `first`, at most `count`; without `first`, empty. Errors: see `settle_part`."""

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
        """Appends the result of `encode_part`. Raises ValueError if `settled` belongs to another core."""

    def encode_first(self, text: str, most: int, threads: int = 1, split_special_tokens: bool = False) -> list[int]:
        """The first `most` ids of `encode`, or all; the rest of the text is only searched for lone surrogates."""

    def count(self, text: str, threads: int = 1, split_special_tokens: bool = False) -> int:
        """The number of ids that `encode` returns."""

    def count_batch(self, texts: list[str], threads: int = 1, split_special_tokens: bool = False) -> list[int]:
        """`count` of each text; texts, and parts of long ones, are distributed over the threads."""

    def count_until(self, text: str, limit: int, split_special_tokens: bool = False) -> int | None:
        """`count`, or None if that exceeds `limit`. The text after that many ids is not read."""

    def cut(self, text: str, most: int, split_special_tokens: bool = False, long_word: int = 512) -> int | None:
        """The length, in characters, of the longest prefix that, encoded by itself, has at most `most` ids.

        None if too many prefixes would have to be encoded to find it.

        long_word: a part between seams with at least this many characters is not encoded once per prefix.
        """

    def intervals(self, text: str, split_special_tokens: bool = False) -> Intervals:
        """Counts of the parts of a text, after one pass over it."""

    def growing_words(self, text: str, inside: bool = False, split_special_tokens: bool = False) -> GrowingWords | None:
        """A long text of Unigram without a seam, to which more is added; None for others.

        inside: It follows a seam of a longer text.
        """

    def default_chunk_chars(self, text_chars: int, threads: int) -> int: ...
    def info(self) -> dict[str, int | bool]:
        """Bytes of the tables and of the integer objects; of Core, whether words are matched or merged by rank."""

class Core(_AnyCore):
    """Text to ids for one BPE pipeline."""

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

class WordPieceCore(_AnyCore):
    """Text to ids for one WordPiece pipeline."""

class UnigramCore(_AnyCore):
    """Text to ids for one Unigram pipeline."""
