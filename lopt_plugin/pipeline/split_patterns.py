r"""The split patterns that the native core knows, by their exact text.

A pattern that is not listed here is Unsupported, however similar. Several spellings of one pattern are listed if they
split every text alike; a test compares them in the reference's regex engine (Oniguruma, Ruby syntax). tiktoken's
spellings differ in three respects, none of which changes a match:

- `'(?i:[sdmt]|ll|ve|re)` tries the contractions in another order; none of them begins another.
- `?+` and `++` give nothing back. The set before a `?+` shares no character with the set after it, and nothing after a
  `++` could use what is given back.
- `\s*[\r\n]` for `\s*[\r\n]+`: the greedy `\s*` reaches as far as it can, so both end at the last newline of a run of
  white space. `\s++$` with a last `\s` for `\s+`, in GPT-2's pattern: `$` can only be the end of the text, as the run
  has taken all newlines; and if `\s+(?!\S)` fails, the run has one character.

Deliberately not listed: tiktoken's later cl100k pattern, `...|\p{N}{1,3}+|...|\s++$|\s*[\r\n]|...`. In Ruby syntax
`{1,3}+` repeats and so takes all digits, and `\s++$` takes trailing white space that `\s*[\r\n]+` would divide.
`tiktoken_encoding` has it, in tiktoken's syntax.
"""

from __future__ import annotations

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN3_5 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SEED = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+"
CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TEKKEN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
KIMI = (
    r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEEPSEEK_NUMBERS = r"\p{N}{1,3}"
DEEPSEEK_CJK = "[一-龥\u3040-ゟ゠-ヿ]+"
_DEEPSEEK_MAIN_ESCAPED = (
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
    r"""| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
)
# The published files hold the two newline characters themselves.
DEEPSEEK_MAIN = _DEEPSEEK_MAIN_ESCAPED.replace(r"\r\n", "\r\n")
CLIP = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
THREE_DIGITS = "[0-9][0-9][0-9]"

MATCHERS: dict[str, str] = {
    GPT2: "gpt2",
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+": "gpt2",
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s": "gpt2",
    QWEN2: "qwen2",
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*"
    r"|\s*[\r\n]|\s+(?!\S)|\s+": "qwen2",
    QWEN3_5: "qwen3_5",
    SEED: "seed",
    CL100K: "cl100k",
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"
    r"|\s*[\r\n]|\s+(?!\S)|\s+": "cl100k",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]|\s+(?!\S)|\s+": "cl100k",
    O200K: "o200k",
    TEKKEN: "tekken",
    KIMI: "kimi",
    DEEPSEEK_NUMBERS: "deepseek_numbers",
    DEEPSEEK_CJK: "deepseek_cjk",
    DEEPSEEK_MAIN: "deepseek_main",
    _DEEPSEEK_MAIN_ESCAPED: "deepseek_main",
    CLIP: "clip",
    THREE_DIGITS: "three_digits",
}

# Patterns whose matches cover the text. Every character is a letter, a number, white space or none of these, and each
# of these patterns has an alternative for each kind that matches at any such character, whatever follows it: `\p{L}+`
# (o200k and tekken: every letter is in one of two sets, and each set has an alternative that needs no character of the
# other; kimi: or it is Han), `\p{N}`, `\s+`, and `[^\s\p{L}\p{N}]+` (qwen3_5: both with marks moved from this one to
# the letters). DeepSeek's main pattern does not cover the text: it leaves out numbers and whatever is neither letter,
# white space, punctuation nor symbol, such as control characters. CLIP's leaves out white space.
COVERING = frozenset({"gpt2", "qwen2", "qwen3_5", "seed", "cl100k", "o200k", "tekken", "kimi"})
