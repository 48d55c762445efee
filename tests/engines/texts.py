"""Prompts for the engine tests: short enough for a small server, and of every kind."""

from __future__ import annotations

PARAGRAPH = (
    "It was in July, 1805, and the speaker was well known. It's 12,345.67 francs, isn't it?  Well...\n\n"
    "\tdef f(x):\r\n    return x ** 2  # naïve, Ελλάδα, Привет, हिन्दी, 東京は日本の首都です, 한국어 👩‍👩‍👧‍👦🇺🇸\n"
)

PROMPTS = (
    "Hello, world!",
    " leading and trailing spaces  ",
    "e\u0301 is not é, and q\u0323\u0307 is not q\u0307\u0323",
    "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n",
    "a<|endoftext|>b <|im_end|>  c<|im_end|",
    "\u0000\u0007 control \ufeff characters \U0010ffff",
    "x²y³ 1234567 ١٢٣ ½ 𝟘",
    "\n" * 50 + " " * 50 + "\t" * 50,
    PARAGRAPH,
    PARAGRAPH * 20,
)

CHAT = (
    {"role": "system", "content": "You are helpful."},
    {"role": "user", "content": PARAGRAPH},
    {"role": "assistant", "content": "Yes <|im_end|> no"},
    {"role": "user", "content": "  And now?"},
)
