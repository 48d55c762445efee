"""What a tokenizer is made of."""

from __future__ import annotations

import json
from typing import Any


def parts(tokenizer_json: str) -> dict[str, str]:
    """The components of a tokenizer.json by name, each in a few words."""
    content = json.loads(tokenizer_json)
    model = content["model"]
    details = [f"{len(model.get('vocab', ())):,} entries"]
    if "merges" in model:
        details.append(f"{len(model['merges']):,} merges")
    details += [name for name in ("ignore_merges", "byte_fallback", "fuse_unk") if model.get(name)]
    details += [f"{name}={model[name]!r}" for name in ("end_of_word_suffix", "dropout") if model.get(name)]
    added = content.get("added_tokens") or []
    flags = ("lstrip", "rstrip", "single_word", "normalized")
    flagged = [f"{sum(token[flag] for token in added)} {flag}" for flag in flags if any(t[flag] for t in added)]
    special = f"{sum(token['special'] for token in added)} special"
    return {
        "added tokens": ", ".join([str(len(added)), special, *flagged]) if added else "none",
        "normalizer": _component(content.get("normalizer")),
        "pre-tokenizer": _component(content.get("pre_tokenizer")),
        "model": f"{model.get('type', 'BPE')}, {', '.join(details)}",
        "post-processor": _component(content.get("post_processor")),
    }


def _component(found: Any) -> str:
    if found is None:
        return "none"
    for members in ("normalizers", "pretokenizers", "processors"):
        if members in found:
            return " + ".join(map(_component, found[members])) or "none"
    shown = [name for name, value in found.items() if value is True and name in ("add_prefix_space", "use_regex")]
    if "pattern" in found:
        shown.insert(0, _short(str(next(iter(found["pattern"].values()), ""))))
    return str(found["type"]) + (f"({', '.join(shown)})" if shown else "")


def _short(pattern: str) -> str:
    return pattern if len(pattern) <= 60 else f"{pattern[:57]}..."
