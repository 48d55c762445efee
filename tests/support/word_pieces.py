"""WordPiece for tests: tokenizers of any options, their cores, and the whole pipeline written out slowly."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable
from typing import Any

import corpus
import native_cores
from native_cores import core_of as core_of
from reference import Reference
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

from lopt_plugin.pipeline import BertOptions
from lopt_plugin.unicode_tables import bert as words, load

SMALL = ["bert_base_uncased", "wordpiece_added", "wordpiece_cased", "wordpiece_uncased"]
LARGE = [name for name in ("bert_base_cased", "bert_multilingual_cased") if name in corpus.tokenizer_names()]
ALL = [*SMALL, *LARGE]

ALL_OPTIONS = [
    BertOptions(clean, chinese, accents, lower)
    for clean, chinese, accents, lower in itertools.product(
        (True, False), (True, False), (None, True, False), (True, False)
    )
]
DEFAULT = BertOptions(True, True, None, True)


@functools.lru_cache(maxsize=2)
def core_and_reference(name: str) -> tuple[Any, Reference]:
    """The core of a tokenizer, and the tokenizer."""
    reference = Reference(name)
    return core_of(reference.tokenizer), reference


def tokenizer_with(
    options: BertOptions | None,
    entries: Iterable[str],
    added_tokens: Iterable[AddedToken] = (),
    pre_tokenizer: Any = None,
    **model: Any,
) -> Tokenizer:
    """A tokenizer of these entries and "[UNK]"; `model` are further options of WordPiece."""
    names = list(dict.fromkeys(["[UNK]", *entries]))
    vocabulary = {name: number for number, name in enumerate(names)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, **{"unk_token": "[UNK]", **model}))
    if options is not None:
        tokenizer.normalizer = options.normalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer() if pre_tokenizer is None else pre_tokenizer
    tokenizer.add_tokens(list(added_tokens))
    return tokenizer


def of_characters(options: BertOptions | None, characters: Iterable[str], **arguments: Any) -> Tokenizer:
    """A tokenizer that tells all these characters, their images and their order apart."""
    normalize = options.normalizer().normalize_str if options is not None else str
    seen = sorted({c for character in characters for c in character + normalize(character)})
    return tokenizer_with(options, [*seen, *("##" + c for c in seen)], **arguments)


def different(tokenizer: Tokenizer | Reference, texts: Iterable[str], core: Any = None, **options: Any) -> list[str]:
    """The texts, at most five, that a core does not encode as the tokenizer does."""
    return native_cores.different(core_of(tokenizer) if core is None else core, tokenizer, texts, **options)


class SlowWordPiece:
    """The pipeline character by character: images, order, words, longest matches. No added tokens."""

    def __init__(
        self, options: BertOptions | None, tokenizer: Tokenizer, prefix: str = "##", longest: int = 100
    ) -> None:
        characters = load.word_characters(options)
        self.bits = characters.bits()
        starts = [0, *characters.image_ends.tolist()]
        data = characters.images.tobytes()
        self.images = {
            int(c): data[start:stop].decode()
            for c, start, stop in zip(characters.changed, starts, starts[1:], strict=False)
        }
        self.order = options.reorder().normalize_str if options is not None and options.strips_accents() else str
        self.vocabulary = tokenizer.get_vocab(with_added_tokens=False)
        self.prefix, self.longest = prefix, longest

    def normalize(self, text: str) -> str:
        return "".join(map(self._image, self._put_into_order(text)))

    def encode(self, text: str) -> list[int]:
        return [number for word in self._words(self.normalize(text)) for number in self._pieces(word)]

    def _put_into_order(self, text: str) -> str:
        movable = words.REORDERED | words.REMOVED
        runs = itertools.groupby(text, lambda c: bool(self.bits[ord(c)] & movable))
        return "".join(self.order("".join(run)) if is_run else "".join(run) for is_run, run in runs)

    def _image(self, character: str) -> str:
        bits = self.bits[ord(character)]
        if bits & words.REMOVED:
            return ""
        image = self.images[ord(character)] if bits & words.CHANGES else character
        return f" {image} " if bits & words.SPACED else image

    def _words(self, text: str) -> list[str]:
        found = [""]
        for character in text:
            if self.bits[ord(character)] & words.SPACE:
                found.append("")
            elif self.bits[ord(character)] & words.PUNCTUATION:
                found += [character, ""]
            else:
                found[-1] += character
        return [word for word in found if word]

    def _pieces(self, word: str) -> list[int]:
        unknown = [self.vocabulary["[UNK]"]]
        if len(word) > self.longest:
            return unknown
        pieces: list[int] = []
        start = 0
        while start < len(word):
            prefix = self.prefix if start else ""
            stops = range(len(word), start, -1)
            stop = next((stop for stop in stops if prefix + word[start:stop] in self.vocabulary), None)
            if stop is None:
                return unknown
            pieces.append(self.vocabulary[prefix + word[start:stop]])
            start = stop
        return pieces
