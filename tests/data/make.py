"""Make the texts and the small tokenizers of this folder again.

    python tests/data/make.py texts          # excerpts of ../shared/data/corpora, where that is beside the checkout
    python tests/data/make.py tokenizers     # trained on the texts of this folder; needs only them

Both give the same files every time (with the same version of `tokenizers`).
"""

from __future__ import annotations

import json
import lzma
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = Path(__file__).parent
CORPORA = HERE.parents[2] / "shared" / "data" / "corpora"
ENTRIES = 3000

CODE = [
    "lua/lua:lutf8lib.c",
    "lua/lua:testes/literals.lua",
    "gin-gonic/gin:logger.go",
    "fastapi/fastapi:fastapi/openapi/docs.py",
    "vuejs/core:packages/reactivity/src/ref.ts",
]

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
WHITE_SPACE = r"\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = rf"{CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{WHITE_SPACE}"
QWEN3_5 = QWEN2.replace(r"?\p{L}+", r"?[\p{L}\p{M}]+").replace(r"[^\s\p{L}", r"[^\s\p{L}\p{M}")
SEED = QWEN2.replace(r"\p{N}|", r"\p{N}{1}|").replace(r"]+[\r\n]*", r"\r\n]+")
CL100K = QWEN2.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
CAPITALISED = [rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+", rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*"]
SYMBOLS_WITH_SLASHES = r" ?[^\s\p{L}\p{N}]+[\r\n/]*"
O200K = "|".join([*(f"{c}{CONTRACTIONS}?" for c in CAPITALISED), r"\p{N}{1,3}", SYMBOLS_WITH_SLASHES, WHITE_SPACE])
HAN_APART = [c.replace(r"\p{M}]", r"\p{M}&&[^\p{Han}]]") + f"{CONTRACTIONS}?" for c in CAPITALISED]
KIMI = "|".join([r"[\p{Han}]+", *HAN_APART, r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n]*", WHITE_SPACE])
TEKKEN = "|".join([*CAPITALISED, r"\p{N}", SYMBOLS_WITH_SLASHES, WHITE_SPACE])
DEEPSEEK = [
    r"\p{N}{1,3}",
    "[一-龥\u3040-ゟ゠-ヿ]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"""
    + "|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
]

CLIP = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
SUFFIX = "</w>"

# Every flag, alone and together; tokens that begin, end and contain each other; tokens that normalization changes or
# that only normalized text contains.
ADDED_TOKENS = [
    AddedToken("<|end|>", normalized=False, special=True),
    AddedToken("<|start|>", normalized=False, special=True),
    AddedToken("<|start", normalized=False),
    AddedToken("<|left|>", lstrip=True, normalized=False, special=True),
    AddedToken("<|right|>", rstrip=True, normalized=False),
    AddedToken("<|both|>", lstrip=True, rstrip=True, normalized=True, special=True),
    AddedToken("<|word|>", single_word=True, normalized=True),
    AddedToken("lonely", single_word=True, lstrip=True, normalized=False),
    AddedToken("<|normalized|>", normalized=True, special=True),
    AddedToken("Cafe\u0301", normalized=True),
    AddedToken("Ångström", normalized=False),
    AddedToken("\n\n\n", normalized=False),
    AddedToken("☃", normalized=True),
]

WORD_PIECE_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def main(what: list[str]) -> None:
    if "texts" in what:
        for name, documents in {"books_en": books_en, "zh": zh, "multi": multi, "code": code}.items():
            write_texts(name, documents())
    if "tokenizers" in what:
        for name, tokenizer in (*make_tokenizers(), *make_word_piece_tokenizers()):
            path = HERE / "tokenizers" / f"{name}.json.xz"
            path.write_bytes(lzma.compress(tokenizer.encode(), preset=9 | lzma.PRESET_EXTREME))
            print(f"{path.name}: {path.stat().st_size:,} bytes")


def shared_documents(corpus: str) -> Iterator[dict[str, str]]:
    with lzma.open(CORPORA / f"{corpus}.jsonl.xz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def write_texts(corpus: str, documents: Iterator[dict[str, str]]) -> None:
    path = HERE / "texts" / f"{corpus}.jsonl.xz"
    lines = "".join(json.dumps(document, ensure_ascii=False) + "\n" for document in documents).encode()
    path.write_bytes(lzma.compress(lines, preset=9 | lzma.PRESET_EXTREME))
    print(f"{path.name}: {len(lines):,} bytes, {path.stat().st_size:,} compressed")


def books_en() -> Iterator[dict[str, str]]:
    for document in shared_documents("books_en"):
        if "War-and-Peace" in document["source"]:
            start = document["text"].index("BOOK ONE: 1805\r\n\r\n\r\n")
            yield {**document, "text": document["text"][start : start + 145_000]}


def zh() -> Iterator[dict[str, str]]:
    for document in shared_documents("zh"):
        if "红楼梦" in document["source"]:
            yield {**document, "text": document["text"][:22_000]}


def multi() -> Iterator[dict[str, str]]:
    """The beginnings of the Universal Declaration of Human Rights in every other language."""
    documents = [document for document in shared_documents("multi") if "udhr2" in document["source"]]
    for document in documents[::2]:
        yield {**document, "text": document["text"][:400]}


def code() -> Iterator[dict[str, str]]:
    for document in shared_documents("code"):
        if document["source"] in CODE:
            yield document


def training_texts() -> list[str]:
    texts = []
    for corpus in ("books_en", "zh", "multi", "code"):
        with lzma.open(HERE / "texts" / f"{corpus}.jsonl.xz", "rt", encoding="utf-8") as lines:
            texts += [json.loads(line)["text"] for line in lines]
    return texts


def split(pattern: str, behavior: str = "isolated", invert: bool = False) -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


def train(
    steps: list[pre_tokenizers.PreTokenizer], normalizer: Any = None, special: tuple[str, ...] = (), **options: str
) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(**options))
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps) if len(steps) > 1 else steps[0]
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=ENTRIES,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=list(special),
        **options,
    )
    tokenizer.train_from_iterator(training_texts(), trainer)
    return tokenizer


def make_tokenizers() -> Iterator[tuple[str, str]]:
    bytes_only = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)

    qwen2 = train([split(QWEN2), bytes_only], normalizers.NFC())
    qwen2.add_tokens(ADDED_TOKENS)
    qwen2.post_processor = processors.ByteLevel(trim_offsets=False)
    yield "tiny_qwen2", qwen2.to_str()

    qwen3_5 = train([split(QWEN3_5), bytes_only], normalizers.NFC())
    qwen3_5.add_tokens(ADDED_TOKENS)
    qwen3_5.post_processor = processors.ByteLevel(trim_offsets=False)
    yield "tiny_qwen3_5", qwen3_5.to_str()

    seed = train([split(SEED), bytes_only])
    seed.add_tokens(ADDED_TOKENS)
    seed.post_processor = processors.ByteLevel(trim_offsets=False)
    yield "tiny_seed", seed.to_str()

    cl100k = with_words_that_no_merge_makes(train([split(CL100K), bytes_only]))
    cl100k.add_tokens(ADDED_TOKENS)
    template = processors.TemplateProcessing(
        single="<|start|> $A",
        pair="<|start|> $A <|start|>:1 $B:1",
        special_tokens=[("<|start|>", cl100k.token_to_id("<|start|>"))],
    )
    cl100k.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    yield "tiny_cl100k", cl100k.to_str()

    o200k = train([split(O200K, "removed", invert=True), bytes_only])
    o200k.add_tokens(ADDED_TOKENS)
    yield "tiny_o200k", with_every_split_as_a_merge(o200k)

    deepseek = train([*map(split, DEEPSEEK), bytes_only], normalizers.Sequence([]))
    deepseek.add_tokens([AddedToken("<｜User｜>", normalized=True, special=True), *ADDED_TOKENS])
    deepseek.post_processor = processors.ByteLevel()
    yield "tiny_deepseek_v3", deepseek.to_str()

    tekken = train([split(TEKKEN), bytes_only], special=("<unk>", "<s>", "</s>", "[INST]", "[/INST]"))
    tekken.add_tokens(ADDED_TOKENS)
    tekken.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A $B </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    yield "tiny_tekken", tekken.to_str()

    kimi = train([split(KIMI), bytes_only])
    kimi.add_tokens(ADDED_TOKENS)
    yield "tiny_kimi", kimi.to_str()

    falcon_steps = [
        pre_tokenizers.Punctuation("contiguous"),
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        pre_tokenizers.Digits(individual_digits=False),
        split("[0-9][0-9][0-9]"),
    ]
    falcon = train(falcon_steps)
    falcon.add_tokens(ADDED_TOKENS)
    yield "tiny_falcon", falcon.to_str()

    roberta = train([pre_tokenizers.ByteLevel(add_prefix_space=True)], special=("<s>", "<pad>", "</s>", "<unk>"))
    roberta.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False)])
    roberta.add_tokens(ADDED_TOKENS)
    roberta.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=True)
    yield "tiny_roberta", roberta.to_str()

    starcoder_steps = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    starcoder = train(starcoder_steps)
    starcoder.add_tokens(ADDED_TOKENS)
    yield "tiny_starcoder", starcoder.to_str()

    clip_normalizers = [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]
    clip_steps = [split(CLIP, "removed", invert=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    clip = with_every_byte_as_a_word(
        train(clip_steps, normalizers.Sequence(clip_normalizers), end_of_word_suffix=SUFFIX)
    )
    clip.add_special_tokens([AddedToken("<|startoftext|>", normalized=True), AddedToken("<|endoftext|>")])
    clip.add_tokens(ADDED_TOKENS)
    start, end = (clip.token_to_id(token) for token in ("<|startoftext|>", "<|endoftext|>"))
    clip.post_processor = processors.RobertaProcessing(
        ("<|endoftext|>", end), ("<|startoftext|>", start), trim_offsets=False, add_prefix_space=False
    )
    yield "tiny_clip", clip.to_str()

    yield from make_sentencepiece_tokenizers()


def make_sentencepiece_tokenizers() -> Iterator[tuple[str, str]]:
    """BPE over characters, in which U+2581 stands for a space."""
    replace = normalizers.Replace(" ", "\u2581")
    trained = pre_tokenizers.Metaspace()  # words: a whole text would be one

    llama = train_sentencepiece(trained, spaces_first=False, byte_tokens=True)
    llama.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), replace])
    llama.add_tokens(ADDED_TOKENS)
    llama.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)]
    )
    yield "tiny_llama2", llama.to_str()

    gemma = train_sentencepiece(trained, spaces_first=True, byte_tokens=True)
    gemma.normalizer = replace
    gemma.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    gemma.add_tokens([AddedToken(c * n, normalized=False) for c in ("\n", "\u2581") for n in (1, 2, 3)])
    gemma.add_tokens([AddedToken("<table>", normalized=False), AddedToken("</td>", normalized=False)])
    gemma.add_tokens(ADDED_TOKENS)
    yield "tiny_gemma", gemma.to_str()

    words = train_sentencepiece(trained, spaces_first=False, byte_tokens=False)
    words.model.fuse_unk = False
    words.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=True)
    words.add_tokens(ADDED_TOKENS)
    yield "tiny_metaspace", words.to_str()

    first = train_sentencepiece(trained, spaces_first=False, byte_tokens=False)
    first.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    first.add_tokens(ADDED_TOKENS)
    yield "tiny_metaspace_first", first.to_str()


def train_sentencepiece(pre_tokenizer: pre_tokenizers.PreTokenizer, spaces_first: bool, byte_tokens: bool) -> Tokenizer:
    """Without a pre-tokenizer; runs of up to 16 spaces are merged before all else (Gemma) or after it (Llama)."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=byte_tokens))
    tokenizer.pre_tokenizer = pre_tokenizer
    trainer = trainers.BpeTrainer(vocab_size=ENTRIES, show_progress=False, limit_alphabet=700)
    tokenizer.train_from_iterator(training_texts(), trainer)
    state = json.loads(tokenizer.to_str())
    model = state["model"]
    names = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256) if byte_tokens)]
    runs = ["\u2581" * n for n in range(1, 17)]
    merged = [[runs[k - 1], runs[n - k - 1]] for n in range(16, 1, -1) for k in range(1, n)]
    model["merges"] = [*merged, *model["merges"]] if spaces_first else [*model["merges"], *merged]
    names += [*sorted(model["vocab"], key=model["vocab"].__getitem__), *runs, "x\u2581y"]
    model["merges"].append(["x\u2581", "y"])
    model["merges"].append(["x", "\u2581"])
    names.append("x\u2581")
    model["vocab"] = {name: number for number, name in enumerate(dict.fromkeys(names))}
    state["pre_tokenizer"] = None
    return Tokenizer.from_str(json.dumps(state))


def make_word_piece_tokenizers() -> Iterator[tuple[str, str]]:
    for name, lowercase in (("wordpiece_cased", False), ("wordpiece_uncased", True)):
        normalizer, pre_tokenizer = normalizers.BertNormalizer(lowercase=lowercase), pre_tokenizers.BertPreTokenizer()
        words = Counter(
            word
            for text in training_texts()
            for word, _ in pre_tokenizer.pre_tokenize_str(normalizer.normalize_str(text))
        )
        tokenizer = Tokenizer(models.WordPiece(word_piece_vocabulary(words), unk_token="[UNK]"))
        tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, pre_tokenizer
        tokenizer.decoder = decoders.WordPiece()
        tokenizer.add_special_tokens(WORD_PIECE_SPECIAL)
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]",
            pair="[CLS] $A [SEP] $B:1 [SEP]:1",
            special_tokens=[(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")],
        )
        yield name, tokenizer.to_str()
        if lowercase:
            tokenizer.add_tokens([*ADDED_TOKENS, AddedToken("New\u4e2dTOKEN", normalized=True)])
            yield "wordpiece_added", tokenizer.to_str()


def word_piece_vocabulary(words: Counter[str]) -> dict[str, int]:
    """The most frequent characters, beginnings and ends of words, long ones first.

    The library's trainer breaks ties differently every time.
    """
    pieces: Counter[str] = Counter()
    characters: Counter[str] = Counter()
    for word, count in words.items():
        for place in range(1, len(word) + 1):
            pieces[word[:place]] += count * place
            characters[word[place - 1]] += count
        for place in range(1, len(word)):
            pieces["##" + word[place:]] += count * (len(word) - place)
    common = [character for character, _ in sorted(characters.items(), key=lambda item: (-item[1], item[0]))[:700]]
    frequent = [piece for piece, _ in sorted(pieces.items(), key=lambda item: (-item[1], item[0]))[:ENTRIES]]
    names = dict.fromkeys([*WORD_PIECE_SPECIAL, *common, *("##" + c for c in common), *frequent])
    return {name: number for number, name in enumerate(names)}


def with_words_that_no_merge_makes(tokenizer: Tokenizer) -> Tokenizer:
    """With ignore_merges, and entries that only it can give: whole words, without merges for them."""
    state = json.loads(tokenizer.to_str())
    vocabulary = state["model"]["vocab"]
    state["model"]["ignore_merges"] = True
    for word in (" internationalization", " aristocracy", "Bonaparte", " 我", "＜＞", " \t "):
        bytes_only = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        stand_ins, _ = bytes_only.pre_tokenize_str(word)[0]
        vocabulary.setdefault(stand_ins, len(vocabulary))
    return Tokenizer.from_str(json.dumps(state))


def with_every_byte_as_a_word(tokenizer: Tokenizer) -> Tokenizer:
    """With an entry for every byte at the end of a word; training gives those only that its texts have there."""
    state = json.loads(tokenizer.to_str())
    vocabulary = state["model"]["vocab"]
    for byte in sorted(pre_tokenizers.ByteLevel.alphabet()):
        vocabulary.setdefault(byte + SUFFIX, len(vocabulary))
    return Tokenizer.from_str(json.dumps(state))


def with_every_split_as_a_merge(tokenizer: Tokenizer) -> str:
    """With ignore_merges, and for each entry all pairs of entries that make it, as converted tiktoken files have it."""
    state = json.loads(tokenizer.to_str())
    vocabulary = state["model"]["vocab"]
    state["model"]["ignore_merges"] = True
    state["model"]["merges"] = [
        [entry[:place], entry[place:]]
        for entry in vocabulary
        for place in range(1, len(entry))
        if entry[:place] in vocabulary and entry[place:] in vocabulary
    ]
    return json.dumps(state, ensure_ascii=False)


if __name__ == "__main__":
    main(sys.argv[1:] or ["tokenizers"])
