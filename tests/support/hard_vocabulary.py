"""A small vocabulary of tokens that decoders treat in some special way, and the decoders."""

from __future__ import annotations

import random

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models

TOKENS = [
    *["", " ", "  ", "   a", "\u2581", "\u2581\u2581a", "a\u2581b", "\u2581.", "_a_", "a", "word", "\ufffd", "a\ufffd"],
    *["##", "##a", "##.", "a##", " .", ".", "?", "!", ",", "'", "n't", "'m", "do", "not", "do not", " do not"],
    *["'s", "'ve", "'re", "\u0120", "\u0120a", "\u00e9\u4e2d", "\U0001f600"],
    *["<0x41>", "<0x20>", "<0xC3>", "<0xA9>", "<0xE4>", "<0xB8>", "<0xAD>", "<0xEF>", "<0xBF>", "<0xBD>", "<0xFF>"],
    *["<0xf0>", "<0x+A>", "<0x-1>", "<0x_1>", "<0xGG>", "<0x123>", "<0x1>", "<0x\u00e9>", "x<0x41>", "<0x41>x"],
    # Bytes, as ByteLevel spells them.
    *["\u00c3", "\u00a9", "\u00e4", "\u00b8", "\u0143", "\u00ef", "\u00bf", "\u00bd"],
]

SUPPORTED = {
    "none": None,
    "ByteLevel": decoders.ByteLevel(),
    "ByteLevel, Fuse": decoders.Sequence([decoders.ByteLevel(), decoders.Fuse()]),
    "WordPiece": decoders.WordPiece(),
    "WordPiece, not cleaned": decoders.WordPiece(cleanup=False),
    "WordPiece without a prefix": decoders.WordPiece(prefix=""),
    "WordPiece, ByteFallback": decoders.Sequence([decoders.WordPiece("<0"), decoders.Fuse()]),
    "Metaspace always": decoders.Metaspace(),
    "Metaspace first": decoders.Metaspace(prepend_scheme="first"),
    "Metaspace never": decoders.Metaspace(prepend_scheme="never"),
    "Metaspace _": decoders.Metaspace(replacement="_"),
    "Metaspace, ByteFallback": decoders.Sequence([decoders.Metaspace(), decoders.ByteFallback()]),
    "ByteFallback": decoders.ByteFallback(),
    "Fuse": decoders.Fuse(),
    "Replace": decoders.Replace("a", "bc"),
    "Strip": decoders.Strip(" ", 2, 0),
    "nothing": decoders.Sequence([]),
    "Llama": decoders.Sequence(
        [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    ),
    "Llama, more stripped": decoders.Sequence(
        [
            decoders.Sequence([decoders.Replace("\u2581", " "), decoders.Strip("a", 1, 0)]),
            decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()]),
            decoders.Strip("a", 3, 0),
        ]
    ),
    "Gemma": decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()]),
}
UNSUPPORTED = {
    "BPEDecoder": decoders.BPEDecoder(),
    "CTC": decoders.CTC(),
    "a regular expression": decoders.Replace(Regex("a+"), "b"),
    "Strip at the end": decoders.Strip(" ", 0, 1),
    "Strip of a text at the end": decoders.Sequence([decoders.Fuse(), decoders.Strip(" ", 0, 1)]),
    "Strip of no ASCII": decoders.Sequence([decoders.Fuse(), decoders.Strip("\u00e9", 1, 0)]),
    "Fuse, Metaspace": decoders.Sequence([decoders.Fuse(), decoders.Metaspace()]),
    "ByteFallback, Strip": decoders.Sequence([decoders.ByteFallback(), decoders.Strip(" ", 1, 0)]),
    "ByteLevel, WordPiece": decoders.Sequence([decoders.ByteLevel(), decoders.WordPiece()]),
    "a byte in some places": decoders.Sequence([decoders.WordPiece("#"), decoders.ByteFallback()]),
}


def with_decoder(decoder: decoders.Decoder | None) -> Tokenizer:
    """A tokenizer of the tokens, with a gap in its ids, special tokens and other added ones."""
    ids = {token: number + 7 * (number > 20) for number, token in enumerate(TOKENS)}
    backend = Tokenizer(models.WordLevel(ids, unk_token="a"))
    if decoder is not None:
        backend.decoder = decoder
    backend.add_special_tokens([AddedToken("<s>", special=True), AddedToken(" .", special=True), "\u0120!"])
    backend.add_tokens([AddedToken("<0x42>"), AddedToken("<tool>"), AddedToken("'s", special=True)])
    return backend


def rows_of(ids: list[int], rows: int, seed: int) -> list[list[int]]:
    """Random rows of these ids: short ones, and some with the same id many times."""
    chance = random.Random(seed)
    return [
        [chance.choice(ids) for _ in range(chance.randrange(1, 14))] * (6 if number % 10 == 0 else 1)
        for number in range(rows)
    ]
