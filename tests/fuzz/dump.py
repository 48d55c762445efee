"""Writes what the fuzzers begin with: tokenizers as the native core gets them, a dictionary, and hard texts as seeds.

    python tests/fuzz/dump.py FOLDER

`tokenizers/NAME` has the arguments of a core, in the order in which `read_tokenizer` of tokenizers.hpp reads them. A
number is eight bytes, little endian; bytes and strings have their length before them. `compiled/NAME` is a compiled
file.
"""

from __future__ import annotations

import itertools
import sys
import unicodedata
from dataclasses import astuple
from pathlib import Path
from typing import Any

SUPPORT = Path(__file__).resolve().parents[1] / "support"
sys.path.insert(0, str(SUPPORT))
import corpus  # noqa: E402
import hard_texts  # noqa: E402
import numpy as np  # noqa: E402
import representatives  # noqa: E402
from tokenizers import AddedToken, Regex, Tokenizer, normalizers  # noqa: E402

from lopt_plugin.pipeline import (  # noqa: E402
    BytePairModel,
    Pipeline,
    SentencePieceModel,
    WordPieceModel,
    read_pipeline,
)
from lopt_plugin.routes import core_values  # noqa: E402
from lopt_plugin.routes.compiled import compiled  # noqa: E402
from lopt_plugin.routes.core_values import CoreValues  # noqa: E402
from lopt_plugin.unicode_tables import load  # noqa: E402
from lopt_plugin.unicode_tables.byte_level import byte_classes  # noqa: E402

NFC_FOLLOWS = 1 << 14  # a bit of the character classes
SHORT = 1_000  # characters of a seed
REPEATED = bytes(range(0xF8, 0xFF))  # tests/fuzz/input.hpp: the character before these is repeated

# Normalizers that remove or join characters, so that a step meets what an earlier one has made of them.
REMOVING: dict[str, list[list[normalizers.Normalizer]]] = {
    "tiny_qwen2": [[normalizers.Nmt(), normalizers.NFC()], [normalizers.NFC(), normalizers.Replace("x\u00e9", "")]],
    "tiny_roberta": [[normalizers.Nmt(), normalizers.Replace(Regex(" {2,}"), " ")]],
    "tiny_clip": [[normalizers.Lowercase()]],
    "tiny_starcoder": [[normalizers.Replace("ab", ""), normalizers.StripAccents()]],
}


class Writer(CoreValues):
    """Appends values to a buffer."""

    def __init__(self) -> None:
        self.out = bytearray()

    def begin(self, kind: str) -> None:
        self.add(kind.replace(" ", "_"))

    def add(self, *values: Any) -> None:
        for value in values:
            data = value.encode() if isinstance(value, str) else value
            if isinstance(data, bytes):
                self.add(len(data))
                self.out += data
            else:
                self.out += int(data).to_bytes(8, "little")

    def vocabulary(self, vocabulary: Any) -> None:
        self.rows(vocabulary.items())

    def function(self, function: Any) -> None:
        """Whether there is one: the fuzzers have their own."""
        self.add(function is not None)

    def form(self, name: str, normalize: Any, align: Any = None) -> None:
        self.add(name)


def tokenizer(pipeline: Pipeline) -> bytes:
    """The arguments of the pipeline's core."""
    out, model = Writer(), pipeline.model
    if isinstance(model, WordPieceModel):
        core_values.describe(out, pipeline)
        return bytes(out.out)
    assert isinstance(model, (BytePairModel, SentencePieceModel))
    dropped, suffix, unknown = b"", "", []
    if isinstance(model, BytePairModel):
        dropped, suffix = model.dropped_bytes, model.end_of_word_suffix
    else:
        unknown = [(model.unk_token is not None, model.unk_token or "", model.fuse_unk, model.byte_fallback)]
    out.begin("byte pair")
    out.vocabulary(model.vocabulary)
    out.rows(pair.split(" ", 1) if isinstance(pair, str) else pair for pair in model.merges)
    out.add(isinstance(model, BytePairModel) and model.ignore_merges)
    classes = core_values.classes_of(pipeline)
    out.add(classes.pages.tobytes(), classes.cells.tobytes(), classes.compose_pairs.astype("<u4").tobytes())
    out.add(byte_classes(), pipeline.scanner)
    out.rows(map(astuple, pipeline.refinements))
    out.add(pipeline.add_prefix_space)
    steps = pipeline.normalizer if isinstance(pipeline.normalizer, tuple) else ()
    core_values.write_steps(out, core_values.native_steps(steps))
    out.rows(core_values.added_tokens(pipeline))
    out.add(dropped, *core_values.form_table(steps), suffix)
    out.rows(unknown)
    signs = core_values.space_signs(pipeline)
    out.rows([] if signs is None else [signs])
    return bytes(out.out)


def unicode_tables() -> bytes:
    """Decompositions, combining classes and compositions, for a normalizer of the fuzzers' own."""
    table = load.character_classes()
    decompose = normalizers.NFD().normalize_str
    compose = normalizers.NFC().normalize_str
    scalars = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    changed = [(c, decompose(chr(c))) for c in scalars if decompose(chr(c)) != chr(c)]
    classes = [(c, unicodedata.combining(chr(c))) for c in range(0x110000) if unicodedata.combining(chr(c))]
    pairs = [(int(a), int(b)) for a, b in np.asarray(table.compose_pairs).reshape(-1, 2)]
    composed = [(a, b, ord(compose(chr(a) + chr(b)))) for a, b in pairs if len(compose(chr(a) + chr(b))) == 1]
    # Marks of a later version of Unicode than this Python's.
    marks = np.flatnonzero(table.bits() & NFC_FOLLOWS)
    unknown = [(c,) for c in marks.tolist() if unicodedata.category(chr(c)) == "Cn"]
    out = Writer()
    for rows in (changed, classes, composed, unknown):
        out.rows(rows)
    return bytes(out.out)


def dictionary() -> str:
    """What libFuzzer may insert: snippets, added tokens, representatives of all classes of characters, repetitions."""
    added = {token.content for name in _names() for token in _pipeline(name).added_tokens}
    words = [*representatives.SNIPPETS, *sorted(added), *representatives.characters()[0x80:]]
    entries = [*(word.encode() for word in words), *(bytes([byte]) for byte in REPEATED)]
    return "".join('"{}"\n'.format("".join(f"\\x{byte:02x}" for byte in entry)) for entry in entries if entry)


def seeds() -> list[bytes]:
    """Hard texts, each with bytes after it that choose the tokenizer and the options."""
    texts = [text for family in hard_texts.families() for text in itertools.islice(hard_texts.texts(family, 1), 40)]
    texts += [text for name in corpus.corpora() for text in corpus.texts(name, 20_000)]
    cut = [text[:SHORT] for text in texts] + [text[SHORT : 2 * SHORT] for text in texts if len(text) > SHORT]
    return [text.encode() + bytes((number * 37 + k * 11) % 256 for k in range(8)) for number, text in enumerate(cut)]


def _names() -> list[str]:
    small = [name for name in corpus.tokenizer_names() if name.startswith(("tiny_", "wordpiece_"))]
    return [*small, *(f"{name}+{number}" for name in REMOVING for number in range(len(REMOVING[name])))]


def _pipeline(name: str) -> Pipeline:
    base, _, number = name.partition("+")
    tokenizer = Tokenizer.from_str(corpus.load_tokenizer(base).to_str())
    if number:
        tokenizer.normalizer = normalizers.Sequence(REMOVING[base][int(number)])
        tokenizer.add_tokens([AddedToken("a b c d e f g", normalized=True)])
    pipeline = read_pipeline(tokenizer)
    assert isinstance(pipeline, Pipeline)
    return pipeline


def main(folder: Path) -> None:
    """Writes all of it."""
    (folder / "tokenizers").mkdir(parents=True, exist_ok=True)
    (folder / "seeds").mkdir(exist_ok=True)
    (folder / "compiled").mkdir(exist_ok=True)
    for name in _names():
        (folder / "tokenizers" / name).write_bytes(tokenizer(_pipeline(name)))
    for name in [*_names(), "unigram_t5", "unigram_bytes"]:
        (folder / "compiled" / name).write_bytes(compiled(_pipeline(name), name))
    (folder / "unicode").write_bytes(unicode_tables())
    (folder / "dictionary").write_text(dictionary(), encoding="ascii")
    for number, seed in enumerate(seeds()):
        (folder / "seeds" / f"{number:04}").write_bytes(seed)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
