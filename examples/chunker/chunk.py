"""Splits a text for retrieval into chunks of at most N tokens, with or without overlap, at ends of lines or words.

    python examples/chunker/chunk.py MODEL --tokens 512 --overlap 64 < book.txt > chunks.jsonl

Every chunk, encoded by itself, has at most N ids, including special tokens: `tokenizer.lopt.cut` returns the longest
such prefix without tokenizing the text after it. (Slicing a list of ids instead can split a character, and the text of
a slice may have more ids when it is encoded again.)
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator

import lopt_plugin
from lopt_plugin.encoder.encoder import Encoder

# Good ends of a chunk, best first; the last occurrence in its second half is used.
ENDS = ("\n\n", "\n", ". ", " ")


def chunks(encoder: Encoder, text: str, tokens: int, overlap: int = 0) -> Iterator[tuple[int, int]]:
    """Begin and end of each chunk, in characters. Raises ValueError if one character has more than `tokens` tokens."""
    if not 0 <= overlap < tokens:
        raise ValueError(f"overlap {overlap}: 0 to {tokens - 1} expected")
    begin = 0
    while begin < len(text):
        # A token rarely has more than 16 characters; if all of these fit, the window was too short.
        window = 16 * tokens
        while True:
            rest = text[begin : begin + window]
            chunk = encoder.cut(rest, tokens)
            if len(chunk) < len(rest) or begin + window >= len(text):
                break
            window *= 4
        if not chunk:
            raise ValueError(f"the character {text[begin]!r} has more than {tokens} tokens")
        end = begin + (len(chunk) if begin + len(chunk) == len(text) else _good_end(chunk))
        yield begin, end
        if end == len(text):
            return
        shared = len(_last(encoder, text[begin:end], overlap)) if overlap else 0
        begin = end - shared if shared < end - begin else end


def _good_end(chunk: str) -> int:
    for end in ENDS:
        place = chunk.rfind(end, len(chunk) // 2)
        if place >= 0:
            return place + len(end)
    return len(chunk)


def _last(encoder: Encoder, chunk: str, tokens: int) -> str:
    """The longest run of whole words at the end of the chunk that has at most `tokens` tokens."""
    intervals = encoder.intervals(chunk)
    begin = len(chunk)
    while True:
        place = chunk.rfind(" ", 0, begin)
        if place < 0 or intervals.count(place, len(chunk)) > tokens:
            return chunk[begin:]
        begin = place


def main() -> None:
    """Reads a text from stdin, writes a line of JSON for each chunk to stdout."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="name or path of a tokenizer")
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--overlap", type=int, default=0)
    given = parser.parse_args()
    encoder = lopt_plugin.from_pretrained(given.model).lopt
    text = sys.stdin.read()
    for begin, end in chunks(encoder, text, given.tokens, given.overlap):
        part = text[begin:end]
        print(json.dumps({"begin": begin, "end": end, "tokens": encoder.count(part), "text": part}, ensure_ascii=False))


if __name__ == "__main__":
    main()
