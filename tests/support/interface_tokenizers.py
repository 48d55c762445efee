"""Tokenizers of several families as transformers has them, small ones made here and large ones where they are."""

from __future__ import annotations

import functools
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import corpus
import tier
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

TEXTS = [
    "The quick brown fox jumps over the lazy dog; isn't it 12345? Hello world, the end of the world.",
    "Ünïcödé naïve café — “quotes” … 中文字符 日本語 한국어 👍🏽 a\u0301 e\u0301 \u1100\u1161",
    "def f(x):\n    return x ** 2  # done\n\n\nthe rest of it is the end",
]


def _bert() -> PreTrainedTokenizerFast:
    backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    backend.train_from_iterator(TEXTS, trainers.WordPieceTrainer(vocab_size=220, special_tokens=special))
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        model_max_length=64,
    )


def _llama() -> PreTrainedTokenizerFast:
    """SentencePiece-style BPE: spaces as U+2581, unknown characters as bytes."""
    special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    backend = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    trainer = trainers.BpeTrainer(vocab_size=420, special_tokens=special, limit_alphabet=60)
    backend.train_from_iterator(TEXTS[:1] + TEXTS[2:], trainer)
    backend = Tokenizer.from_str(backend.to_str())
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)]
    )
    backend.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        pad_token="</s>",
        padding_side="left",
    )


def byte_level(
    *, nfc: bool, prefix_space: bool, post_processor: processors.PostProcessor | None, **tokens: str | AddedToken
) -> PreTrainedTokenizerFast:
    backend = Tokenizer(models.BPE())
    if nfc:
        backend.normalizer = normalizers.NFC()
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=420,
        special_tokens=["<s>", "</s>", "<pad>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(TEXTS, trainer)
    if post_processor is not None:
        backend.post_processor = post_processor
    return PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="<pad>", **tokens)


def _roberta() -> PreTrainedTokenizerFast:
    post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0), trim_offsets=True, add_prefix_space=True)
    return byte_level(
        nfc=False,
        prefix_space=True,
        post_processor=post_processor,
        mask_token=AddedToken("<mask>", lstrip=True, rstrip=False),
        bos_token="<s>",
        eos_token="</s>",
        model_max_length=40,
    )


def _qwen() -> PreTrainedTokenizerFast:
    tokenizer = byte_level(
        nfc=True, prefix_space=False, post_processor=processors.ByteLevel(trim_offsets=False), eos_token="</s>"
    )
    tokenizer.add_tokens([AddedToken("Cafe\u0301", normalized=True), AddedToken("end", single_word=True, rstrip=True)])
    return tokenizer


def _template() -> PreTrainedTokenizerFast:
    """Ids on both sides, several for a special token, type ids that are not all 0, offsets trimmed before."""
    template = processors.TemplateProcessing(
        single="<s>:2 $A:0 </s>:0",
        pair="$B:1 [two]:3 <s>:0 $A:0",
        special_tokens=[
            ("<s>", 0),
            ("</s>", 1),
            {"id": "[two]", "ids": [1, 0], "tokens": ["</s>", "<s>"]},
        ],
    )
    post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=True, add_prefix_space=False), template])
    return byte_level(
        nfc=False,
        prefix_space=False,
        post_processor=post_processor,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )


def _no_padding_token() -> PreTrainedTokenizerFast:
    tokenizer = byte_level(nfc=False, prefix_space=False, post_processor=None)
    tokenizer.pad_token = None
    return tokenizer


def _unigram() -> PreTrainedTokenizerFast:
    """T5's kind. Its scores do not come back from JSON as they were, which decides between ways of equal cost."""
    cost = -2.7142077840697407
    dashes = [("-" * number, cost * number) for number in (1, 2, 3, 4, 8, 16)]
    words = [(word, -3.0 - len(word)) for word in ("▁the", "▁world", "▁of", "▁end", "the", "▁", *"oeldt")]
    entries = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", -10.0), *dashes, *words]
    backend = Tokenizer(models.Unigram(entries, unk_id=2, byte_fallback=False))
    backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    backend.decoder = decoders.Metaspace()
    backend.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, unk_token="<unk>", eos_token="</s>", pad_token="<pad>"
    )
    tokenizer._tokenizer = backend  # not the copy, which went through JSON
    return tokenizer


def _clip() -> PreTrainedTokenizerFast:
    """Of CLIP's own class, which patches `decode` on the Rust tokenizer."""
    end = "<|endoftext|>"
    config = {"tokenizer_class": "CLIPTokenizer", "unk_token": end, "eos_token": end, "pad_token": end}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "tokenizer.json").write_text(corpus.tokenizer_json("tiny_clip"), encoding="utf-8")
        (Path(folder) / "tokenizer_config.json").write_text(
            json.dumps({**config, "bos_token": "<|startoftext|>", "model_max_length": 77}), encoding="utf-8"
        )
        return AutoTokenizer.from_pretrained(folder)


def _of_corpus(name: str) -> PreTrainedTokenizerFast:
    folder = corpus.SHARED / "data" / "tokenizers" / name
    if name in _OF_THEIR_OWN_CLASS and (folder / "tokenizer_config.json").is_file():
        return AutoTokenizer.from_pretrained(folder)
    return PreTrainedTokenizerFast(tokenizer_object=corpus.load_tokenizer(name), pad_token="<pad>")


_MAKERS: dict[str, Callable[[], PreTrainedTokenizerFast]] = {
    "bert": _bert,
    "llama": _llama,
    "roberta": _roberta,
    "qwen": _qwen,
    "template": _template,
    "no padding token": _no_padding_token,
    "unigram": _unigram,
    "clip": _clip,
}
_OF_THEIR_OWN_CLASS = ("t5_small", "clip_vit")
_LARGE = ("qwen3", "roberta_base", "tiny_falcon", "bert_base_uncased", "llama2", "t5_small", "llama3", "clip_vit")


def names() -> list[str]:
    large = _LARGE if tier.DEEP else ("tiny_falcon", "bert_base_uncased")
    return [*_MAKERS, *(name for name in large if name in corpus.tokenizer_names())]


@functools.lru_cache(maxsize=2)
def original(name: str) -> PreTrainedTokenizerFast:
    """The tokenizer as transformers makes it; what a test changes in it stays changed."""
    return _MAKERS[name]() if name in _MAKERS else _of_corpus(name)
