"""Makes tokenizers/unigram_*.json.xz again: trained by sentencepiece 0.2.1 or later, converted by transformers."""

from __future__ import annotations

import json
import lzma
import tempfile
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import make
import sentencepiece
from tokenizers import normalizers, pre_tokenizers
from transformers.convert_slow_tokenizer import SpmConverter, T5Converter, XLMRobertaConverter

ENTRIES = 3000


def train(folder: Path, texts: list[str], **options: Any) -> str:
    """The path of a new model, in which id 0 pads, 1 ends a text and 2 is unknown."""
    path = folder / "model"
    lines = [line for text in texts for line in text.splitlines() if line.strip()]
    sentencepiece.SentencePieceTrainer.train(
        **{
            "sentence_iterator": iter(lines),
            "model_prefix": str(path),
            "model_type": "unigram",
            "vocab_size": ENTRIES,
            "character_coverage": 0.995,
            "pad_id": 0,
            "eos_id": 1,
            "unk_id": 2,
            "bos_id": -1,
            "num_threads": 1,
            "minloglevel": 2,
            "max_sentence_length": 20_000,
            **options,
        }
    )
    return f"{path}.model"


def rules(folder: Path) -> str:
    """The path of rules that are a part of nmt_nfkc, which is large: characters, and sequences that compose."""
    written = dict.fromkeys((*range(9, 14), 0x85, 0x200B, 0x2028), "20")
    written |= dict.fromkeys((1, 8, 0x0E, 0x1F, 0x7F, 0x9F), "")
    lines = [f"{c:X}\t{image}" for c, image in written.items()]
    for c in (*range(0xA0, 0x2200), *range(0x3000, 0x3400), *range(0xFF00, 0xFFF0)):
        for text in {chr(c), unicodedata.normalize("NFD", chr(c))}:
            normalized = unicodedata.normalize("NFKC", text)
            if c not in written and text != normalized:
                lines.append("\t".join(" ".join(f"{ord(x):X}" for x in each) for each in (text, normalized)))
    path = folder / "rules.tsv"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def convert(converter: type[SpmConverter], path: str) -> dict[str, Any]:
    ids = {"<s>": 0, "</s>": 1 if converter is T5Converter else 2}
    slow = SimpleNamespace(
        vocab_file=path, _extra_ids=20, legacy=True, add_prefix_space=True, convert_tokens_to_ids=ids.__getitem__
    )
    state: dict[str, Any] = json.loads(converter(slow).converted().to_str())
    return state


def make_tokenizers() -> Iterator[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as name:
        folder, texts = Path(name), make.training_texts()
        # As T5 is published: the character map alone, and words at white space.
        state = convert(T5Converter, train(folder, texts, normalization_rule_tsv=rules(folder)))
        state["normalizer"] = state["normalizer"]["normalizers"][0]
        splits = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
        state["pre_tokenizer"] = json.loads(pre_tokenizers.Sequence(splits).__getstate__())
        yield "unigram_t5", with_added_tokens(state)
        # As transformers converts XLM-R, but without a character map, and unknown characters become bytes.
        path = train(folder, texts, normalization_rule_name="identity", byte_fallback=True)
        state = convert(XLMRobertaConverter, path)
        state["model"]["byte_fallback"] = True
        yield "unigram_bytes", with_added_tokens(state)


def with_added_tokens(state: dict[str, Any]) -> str:
    tokenizer = make.Tokenizer.from_str(json.dumps(state))
    tokenizer.add_tokens(make.ADDED_TOKENS)
    assert isinstance(tokenizer.normalizer, (normalizers.Precompiled, normalizers.Sequence))
    return str(tokenizer.to_str())


if __name__ == "__main__":
    for tokenizer_name, tokenizer_json in make_tokenizers():
        made = Path(__file__).parent / "tokenizers" / f"{tokenizer_name}.json.xz"
        made.write_bytes(lzma.compress(tokenizer_json.encode(), preset=9 | lzma.PRESET_EXTREME))
        print(f"{made.name}: {made.stat().st_size:,} bytes")
