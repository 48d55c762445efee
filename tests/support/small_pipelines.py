"""Small tokenizers of the families that tests/data has no file of, made in memory from its texts."""

from __future__ import annotations

import functools
import json

import corpus
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from lopt_plugin.pipeline.split_patterns import CLIP, O200K

ENTRIES = 2000


@functools.cache
def small_pipelines() -> dict[str, Tokenizer]:
    """By name; not to be changed."""
    return {
        "wordpiece": _wordpiece(lowercase=False),
        "wordpiece_uncased": _wordpiece(lowercase=True),
        "sentencepiece": _sentencepiece(prepends=True, byte_fallback=True),
        "sentencepiece_fused": _sentencepiece(prepends=True, byte_fallback=False),
        "sentencepiece_split": _sentencepiece(prepends=False, byte_fallback=True),
        "clip": _clip(),
        "nfkd": _compatibility(),
        "word_level": _word_level(),
    }


def reaching() -> Tokenizer:
    """The pattern of o200k, and a token that holds an ideograph and the capitals after it."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    ideograph = "".join(_stand_ins("中"))
    merges = [(ideograph[0], ideograph[1]), (ideograph[:2], ideograph[2]), ("A", "V"), (ideograph, "AV")]
    entries = [*alphabet, *(left + right for left, right in merges)]
    tokenizer = Tokenizer(models.BPE({entry: i for i, entry in enumerate(entries)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(O200K), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    )
    return tokenizer


def _stand_ins(text: str) -> str:
    ((stand_ins, _),) = pre_tokenizers.ByteLevel(False, use_regex=False).pre_tokenize_str(text)
    return str(stand_ins)


def _texts() -> list[str]:
    return [text for name in ("books_en", "zh", "multi") for text in corpus.texts(name, 20_000)]


def _wordpiece(lowercase: bool) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(_texts(), trainers.WordPieceTrainer(vocab_size=ENTRIES, special_tokens=special))
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


def _sentencepiece(prepends: bool, byte_fallback: bool) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=byte_fallback))
    replace = normalizers.Replace(" ", "▁")
    steps = [normalizers.Prepend("▁"), replace] if prepends else [replace]
    tokenizer.normalizer = normalizers.Sequence(steps) if prepends else replace
    # Words for the trainer only: without them it would take whole texts for words.
    tokenizer.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    byte_entries = [f"<0x{byte:02X}>" for byte in range(256)] if byte_fallback else []
    special = ["<unk>", "<s>", "</s>", *byte_entries]
    tokenizer.train_from_iterator(_texts(), trainers.BpeTrainer(vocab_size=ENTRIES, special_tokens=special))
    state = json.loads(tokenizer.to_str())
    state["pre_tokenizer"] = None if prepends else json.loads(_no_split())
    state["added_tokens"] = [token for token in state["added_tokens"] if token["content"] in special[:3]]
    made = Tokenizer.from_str(json.dumps(state))
    # Tokens of every flag, some of which are only in the normalized text.
    made.add_tokens([AddedToken("<left>", lstrip=True), AddedToken("<right>", rstrip=True, normalized=False)])
    made.add_tokens([AddedToken("lonely", single_word=True), AddedToken("\n\n", normalized=False)])
    return made


def _no_split() -> str:
    state: bytes = pre_tokenizers.Split(" ", "merged_with_previous").__getstate__()
    return state.decode()


def _clip() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(end_of_word_suffix="</w>", unk_token="<|endoftext|>"))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(CLIP), "removed", invert=True), pre_tokenizers.ByteLevel(False)]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=ENTRIES,
        special_tokens=["<|endoftext|>"],
        end_of_word_suffix="</w>",
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(_texts(), trainer)
    tokenizer.add_tokens([AddedToken("<|startoftext|>", normalized=True)])
    return tokenizer


def _compatibility() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents()])
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=ENTRIES, initial_alphabet=alphabet, special_tokens=["<|end|>"])
    tokenizer.train_from_iterator(_texts(), trainer)
    return tokenizer


def _word_level() -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.train_from_iterator(_texts(), trainers.WordLevelTrainer(vocab_size=ENTRIES, special_tokens=["[UNK]"]))
    return tokenizer
