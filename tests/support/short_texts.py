"""Short texts of which every place is made a seam.

Two scans of a run of digits that start in different phases agree nowhere in it; a run of spaces is divided one way or
another by what follows it; a contraction may begin at a seam.
"""

from __future__ import annotations

WHITE_SPACE = ["     ", " \n \n  ", "\r\n\r\n ", "\t \t\n\t ", "\u3000 \u3000\n"]

SHORT_TEXTS = [
    *("a" * k + "1234567890" * 4 + "b12 x" for k in range(3)),
    *(" " * k + "\u00b2" * 100 + "1234567 and the rest" for k in range(4)),
    "x" + "1" * 130 + "." + "2" * 131 + "\u0663" * 30,
    *("a" + spaces + tail for spaces in WHITE_SPACE for tail in ("", "b", ".")),
    " \n" * 20 + "a" + "\n " * 20,
    "it's I'LL we'\u017f they'Re don't'x 'll's ''s a'",
    "end.\n/path.\n\n//\n/\r\n!?\n/ .\n/",
    "'s" * 20 + "'" * 20,
    "\u4f60\u597d\uff0c\u4e16\u754c\u3002\u4eca\u5929 123\u5e74\u30ab\u30bf\u30ab\u30ca\u3068\u304b\u3093\u3058",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f3f3\ufe0f\u200d\U0001f308 \U0001f1fa\U0001f1f8" * 2,
    "e\u0301q\u0323\u0307\u1100\u1161\u11a8 \u304b\u3099\u212b\u0344a\u0301\u0327\u0345" * 2,
    "\u0301\u0301a\u0301 \u0301\n\u0301",
    "camelCaseHTTPServer\u01c5x\u02b0\u02b0A\u02b0a\u4e2dA\u4e2da",
    "a<|end|>b <|left|> <|right|>  <|both|>\n<|word|> x<|word|><|normalized|> lonely",
    " Cafe\u0301\n\n\n\u2603<|start<|start|>lonely",
    "<|endoftext|><|im_start|>user\n<|im_end|><|end|>",
    "\x00\x01\u0378\U0010ffff\ufeff\u200b x\x85y\u2028z\xa0 \xa0",
    "word " * 30,
    "$#@!%^&*()_+{}|:<>?~`-=[]\\;',./" * 3,
]
