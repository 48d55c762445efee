"""Pipelines read from tokenizers, compared with what the tokenizers do."""

from __future__ import annotations

import json
from typing import Any

import corpus
import native_cores
import pytest
import representatives
import strategies
import tier
import tokenizers
from hypothesis import given, settings, strategies as st
from packaging.version import Version
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from lopt_plugin.encoder.encoder import Encoder
from lopt_plugin.pipeline import (
    BertOptions,
    Pipeline,
    PostProcessor,
    SpaceNormalizer,
    UnigramModel,
    Unsupported,
    WordPieceModel,
    describe,
    read_pipeline,
    split_patterns as patterns,
)
from lopt_plugin.pipeline.model_json import split_state
from lopt_plugin.pipeline.normalizers import MapCharacters, NormalizationForm, ReplaceRuns
from lopt_plugin.pipeline.pipeline import Refinement
from lopt_plugin.pipeline.pre_tokenizers import PreTokenizer, read_pre_tokenizer
from lopt_plugin.routes.native_core import build_core
from lopt_plugin.unicode_tables.byte_level import alphabet
from lopt_plugin.unicode_tables.derive import oracle

FALCON_REFINEMENTS = (
    Refinement("numeric", "contiguous", after_byte_level=True),
    Refinement("three_digits", "isolated", after_byte_level=True),
)
NFC = (NormalizationForm("NFC"),)
CLIP = (NormalizationForm("NFC"), ReplaceRuns("white space", 1, False, " "), MapCharacters("Lowercase"))
STARCODER_REFINEMENTS = (Refinement("numeric", "isolated"), Refinement("gpt2", "isolated"))

# scanner, refinements, normalizer, add_prefix_space, ignore_merges, prefix and suffix ids
SUPPORTED: dict[str, tuple[Any, ...]] = {
    "gpt2": ("gpt2", (), (), False, False, (), ()),
    "roberta_base": ("gpt2", (), (), False, False, (0,), (2,)),
    "qwen3": ("qwen2", (), NFC, False, False, (), ()),
    "llama3": ("cl100k", (), (), False, True, (128000,), ()),
    "gpt_oss": ("o200k", (), (), False, True, (), ()),
    "gpt4o": ("o200k", (), (), False, False, (), ()),
    "deepseek_v3": ("deepseek_v3", (), (), False, False, (), ()),
    "mistral_tekken": ("tekken", (), (), False, True, (1,), ()),
    "falcon": ("falcon", FALCON_REFINEMENTS, (), False, False, (), ()),
    "clip_vit": ("clip", (), CLIP, False, False, (49406,), (49407,)),
    "tiny_clip": ("clip", (), CLIP, False, False, (3125,), (3126,)),
    "tiny_qwen2": ("qwen2", (), NFC, False, False, (), ()),
    "tiny_qwen3_5": ("qwen3_5", (), NFC, False, False, (), ()),
    "tiny_seed": ("seed", (), (), False, False, (), ()),
    "tiny_cl100k": ("cl100k", (), (), False, True, (3007,), ()),
    "tiny_o200k": ("o200k", (), (), False, True, (), ()),
    "tiny_deepseek_v3": ("deepseek_v3", (), (), False, False, (), ()),
    "tiny_tekken": ("tekken", (), (), False, False, (1,), (2,)),
    "tiny_kimi": ("kimi", (), (), False, False, (), ()),
    "tiny_falcon": ("falcon", FALCON_REFINEMENTS, (), False, False, (), ()),
    "tiny_roberta": ("gpt2", (), (), True, False, (0,), (2,)),
    "tiny_starcoder": ("whole", STARCODER_REFINEMENTS, (), False, False, (), ()),
    "llama2": ("vocabulary_cuts", (), SpaceNormalizer(True), False, None, (1,), ()),
    "llama2_added_normalized": ("vocabulary_cuts", (), SpaceNormalizer(True), False, None, (1,), ()),
    "mistral_7b_v0_1": ("vocabulary_cuts", (), SpaceNormalizer(True), False, None, (1,), ()),
    "mistral_7b_v0_3": ("vocabulary_cuts", (), SpaceNormalizer(True), False, None, (1,), ()),
    "phi3_mini": ("vocabulary_cuts", (), SpaceNormalizer(True), False, None, (), ()),
    "gemma3": ("vocabulary_cuts", (), SpaceNormalizer(False), False, None, (2,), ()),
    "tiny_llama2": ("vocabulary_cuts", (), SpaceNormalizer(True), False, None, (1,), ()),
    "tiny_gemma": ("vocabulary_cuts", (), SpaceNormalizer(False), False, None, (), ()),
    "tiny_metaspace": ("vocabulary_cuts_and_spaces", (), (), False, None, (), ()),
    "tiny_metaspace_first": ("vocabulary_cuts", (), (), False, None, (), ()),
}
UNCASED, CASED = BertOptions(True, True, None, True), BertOptions(True, True, None, False)
# normalizer, prefix and suffix ids
WORD_PIECE: dict[str, tuple[Any, ...]] = {
    "bert_base_uncased": (UNCASED, (101,), (102,)),
    "bert_base_cased": (CASED, (101,), (102,)),
    "bert_multilingual_cased": (CASED, (101,), (102,)),
    "wordpiece_added": (UNCASED, (2,), (3,)),
    "wordpiece_cased": (CASED, (2,), (3,)),
    "wordpiece_uncased": (UNCASED, (2,), (3,)),
}
# scanner, prefix and suffix ids
UNIGRAM: dict[str, tuple[Any, ...]] = {
    "t5_small": ("whitespace_split", (), (1,)),
    "unigram_t5": ("whitespace_split", (), (1,)),
    "unigram_bytes": ("metaspace", (0,), (2,)),
}


def pipeline_of(tokenizer: Tokenizer) -> Pipeline:
    return read_pipeline(tokenizer)


def reason_of(tokenizer: Tokenizer) -> str:
    with pytest.raises(Unsupported) as raised:
        read_pipeline(tokenizer)
    return str(raised.value)


def byte_level_model(**options: Any) -> models.BPE:
    vocabulary = {stand_in: number for number, stand_in in enumerate(alphabet())}
    vocabulary |= {"ab": 256, "Ġa": 257, "!!": 258}
    return models.BPE(vocabulary, [("a", "b"), ("Ġ", "a"), ("!", "!")], **options)


def tokenizer_with(**components: Any) -> Tokenizer:
    tokenizer = Tokenizer(components.pop("model", None) or byte_level_model())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    for name, component in components.items():
        setattr(tokenizer, name, component)
    return tokenizer


@pytest.mark.parametrize("name", corpus.tokenizer_names())
def test_every_tokenizer_of_the_collection(name: str) -> None:
    tokenizer = corpus.load_tokenizer(name)
    pipeline = pipeline_of(tokenizer)
    file = json.loads(corpus.tokenizer_json(name))
    around = (pipeline.post_processor.prefix_ids, pipeline.post_processor.suffix_ids)
    if isinstance(pipeline.model, UnigramModel):
        assert UNIGRAM[name] == (pipeline.scanner, *around)
        assert [name for name, _ in pipeline.model.pieces] == [name for name, _ in file["model"]["vocab"]]
        assert pipeline.metaspace == "always"
        return
    assert pipeline.model.vocabulary == file["model"]["vocab"]
    if isinstance(pipeline.model, WordPieceModel):
        assert WORD_PIECE[name] == (pipeline.normalizer, *around)
        assert (pipeline.scanner, pipeline.refinements, pipeline.add_prefix_space) == ("bert", (), False)
        assert (pipeline.model.unknown_token, pipeline.model.continuing_prefix) == ("[UNK]", "##")
    else:
        assert SUPPORTED[name] == (
            pipeline.scanner,
            pipeline.refinements,
            pipeline.normalizer,
            pipeline.add_prefix_space,
            getattr(pipeline.model, "ignore_merges", None),
            *around,
        )
        pairs = [merge.split(" ") if isinstance(merge, str) else merge for merge in file["model"]["merges"]]
        assert list(pipeline.model.merges) == pairs
    assert [token._asdict() for token in pipeline.added_tokens] == expected_added_tokens(file, tokenizer.normalizer)
    assert set(map(type, describe(pipeline).values())) == {str}
    assert_ids_around_the_text(tokenizer, pipeline)


def expected_added_tokens(file: dict[str, Any], normalizer: Any) -> list[dict[str, Any]]:
    def normalize(content: str) -> str:
        return normalizer.normalize_str(content) if normalizer is not None else content

    return [
        {**token, "content": normalize(token["content"]) if token["normalized"] else token["content"]}
        for token in file["added_tokens"]
    ]


def assert_ids_around_the_text(tokenizer: Tokenizer, pipeline: Pipeline) -> None:
    for text in ("x", "", "some words"):
        encoding = tokenizer.encode(text, add_special_tokens=True)
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        around = pipeline.post_processor
        assert encoding.ids == [*around.prefix_ids, *ids, *around.suffix_ids]
        if text:
            assert around.token_type_ids_are_zero == (not any(encoding.type_ids))


@pytest.mark.parametrize("merges_as", [" ".join, list])
def test_old_and_new_files(merges_as: Any) -> None:
    state = json.loads(tokenizer_with().to_str())
    merges = [["a", "b"], ["Ġ", "a"], ["!", "!"]]
    state["model"]["merges"] = list(map(merges_as, merges))
    del state["model"]["type"]
    assert list(pipeline_of(Tokenizer.from_str(json.dumps(state))).model.merges) == merges


def test_entries_with_spaces_keep_their_merges_apart() -> None:
    vocabulary = {stand_in: number for number, stand_in in enumerate(alphabet())} | {" ": 300, "a ": 301}
    model = pipeline_of(tokenizer_with(model=models.BPE(vocabulary, [("a", " ")]))).model
    assert list(model.merges) == [["a", " "]]


def test_reading_changes_neither_the_tokenizer_nor_the_garbage_collector() -> None:
    import gc

    tokenizer = corpus.load_tokenizer("tiny_qwen2")
    before = tokenizer.to_str()
    read_pipeline(tokenizer)
    assert gc.isenabled()
    assert tokenizer.to_str() == before


class CustomPreTokenizer:
    def pre_tokenize(self, text: Any) -> None:
        pass


SPLIT = pre_tokenizers.Split
SEQUENCE = pre_tokenizers.Sequence
TO_BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


@pytest.mark.parametrize(
    ("reason", "components"),
    [
        ("model WordLevel is", {"model": models.WordLevel({"a": 0}, unk_token="a")}),
        ("ByteLevel with a model WordPiece is", {"model": models.WordPiece({"a": 0}, unk_token="a")}),
        ("BertNormalizer with a model BPE is", {"normalizer": normalizers.BertNormalizer()}),
        ("model Unigram is", {"model": models.Unigram([("a", 0.0)])}),
        ("model BPE with dropout", {"model": byte_level_model(dropout=0.1)}),
        ("continuing_subword_prefix '##'", {"model": models.BPE({"a": 0}, [], continuing_subword_prefix="##")}),
        ("end_of_word_suffix '</w>'", {"model": models.BPE({"a": 0}, [], end_of_word_suffix="</w>")}),
        ("lacks 242 bytes", {"model": models.BPE({"a": 0}, [], unk_token="a")}),
        ("lacks 242 bytes", {"model": models.BPE({"a": 0}, [], byte_fallback=True)}),
        ("lacks 242 bytes", {"model": models.BPE({"a": 0}, [], ignore_merges=True)}),
        ("normalizer BertNormalizer with a model BPE is", {"normalizer": normalizers.BertNormalizer()}),
        ("normalizer ByteLevel is", {"normalizer": normalizers.ByteLevel()}),
        ("no ByteLevel step", {"pre_tokenizer": None}),
        ("no ByteLevel step", {"pre_tokenizer": pre_tokenizers.Digits()}),
        ("pre-tokenizer Whitespace is", {"pre_tokenizer": pre_tokenizers.Whitespace()}),
        ("pre-tokenizer BertPreTokenizer is", {"pre_tokenizer": pre_tokenizers.BertPreTokenizer()}),
        ("pre-tokenizer Metaspace is", {"pre_tokenizer": SEQUENCE([pre_tokenizers.Metaspace(), TO_BYTES])}),
        ("2 ByteLevel steps", {"pre_tokenizer": SEQUENCE([TO_BYTES, TO_BYTES])}),
        (
            "add_prefix_space is not the first step",
            {"pre_tokenizer": SEQUENCE([pre_tokenizers.Digits(), pre_tokenizers.ByteLevel(add_prefix_space=True)])},
        ),
        ("the string 'a b'", {"pre_tokenizer": SEQUENCE([SPLIT("a b", "isolated"), TO_BYTES])}),
        (
            r"split pattern '\\p{L}+' is not",
            {"pre_tokenizer": SEQUENCE([SPLIT(Regex(r"\p{L}+"), "isolated"), TO_BYTES])},
        ),
        ("comes after ByteLevel", {"pre_tokenizer": SEQUENCE([TO_BYTES, SPLIT(Regex(patterns.QWEN2), "isolated")])}),
        ("pre-tokenizer cannot be read", {"pre_tokenizer": pre_tokenizers.PreTokenizer.custom(CustomPreTokenizer())}),
        (
            "has the text 2 times",
            {
                "post_processor": processors.TemplateProcessing(
                    single="$A [S] $A", pair="$A $B", special_tokens=[("[S]", 3)]
                )
            },
        ),
        ("has the text 0 times", {"post_processor": processors.TemplateProcessing("[S]", "$A $B", [("[S]", 3)])}),
        (
            "two steps that add ids",
            {
                "post_processor": processors.Sequence(
                    [
                        processors.TemplateProcessing("[S] $A", "[S] $A $B", [("[S]", 3)]),
                        processors.BertProcessing(("s", 1), ("c", 2)),
                    ]
                )
            },
        ),
    ],
)
def test_unsupported_pipelines_give_a_reason(reason: str, components: dict[str, Any]) -> None:
    assert reason in reason_of(tokenizer_with(**components))


def test_a_template_with_a_token_that_it_does_not_describe() -> None:
    """The library loads it, and panics when the token is wanted."""
    state = json.loads(tokenizer_with(post_processor=TEMPLATE("[S] $A", "$A $B", [("[S]", 3)])).to_str())
    state["post_processor"]["single"][0]["SpecialToken"]["id"] = "[T]"
    assert "the post-processor fails" in reason_of(Tokenizer.from_str(json.dumps(state)))
    # Of pairs alone: these are left to the library, whose panic they are.
    state["post_processor"]["single"][0]["SpecialToken"]["id"] = "[S]"
    state["post_processor"]["pair"].append({"SpecialToken": {"id": "[T]", "type_id": 0}})
    pipeline = read_pipeline(Tokenizer.from_str(json.dumps(state)))
    assert isinstance(pipeline, Pipeline)
    assert pipeline.templates is None


@pytest.mark.parametrize(
    ("component", "path"),
    [
        ("model", ("model",)),
        ("pre-tokenizer ByteLevel", ("pre_tokenizer",)),
        ("normalizer NFC", ("normalizer",)),
        ("post-processor BertProcessing", ("post_processor",)),
    ],
)
def test_an_option_of_a_later_version_is_not_ignored(
    component: str, path: tuple[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The installed version has no such option, so the test adds one to the state."""
    import lopt_plugin.pipeline.component_state as component_state
    import lopt_plugin.pipeline.model_json as model_json

    class WithLaterOption:
        @staticmethod
        def loads(data: bytes) -> Any:
            state = json.loads(data)
            if component.endswith(state["type"]) or (component == "model" and state["type"] == "BPE"):
                state["later_option"] = True
            return state

    monkeypatch.setattr(component_state, "json", WithLaterOption)
    monkeypatch.setattr(model_json, "json", WithLaterOption)
    tokenizer = tokenizer_with(
        normalizer=normalizers.NFC(), post_processor=processors.BertProcessing(("s", 1), ("c", 2))
    )
    reason = reason_of(tokenizer)
    assert component in reason
    assert "later_option" in reason


def test_options_that_change_nothing() -> None:
    with_all_bytes = byte_level_model(
        dropout=0.0,
        unk_token="a",
        fuse_unk=True,
        byte_fallback=True,
        continuing_subword_prefix="",
        end_of_word_suffix="",
    )
    assert pipeline_of(tokenizer_with(model=with_all_bytes)) == pipeline_of(tokenizer_with())
    assert pipeline_of(tokenizer_with(normalizer=normalizers.Sequence([]))).normalizer == ()
    assert pipeline_of(tokenizer_with(normalizer=normalizers.Sequence([normalizers.NFC()]))).normalizer == NFC


def test_truncation_and_padding_are_not_part_of_the_pipeline() -> None:
    tokenizer = tokenizer_with(post_processor=processors.BertProcessing(("s", 1), ("c", 2)))
    before = pipeline_of(tokenizer)
    tokenizer.enable_truncation(max_length=4)
    tokenizer.enable_padding(length=10)
    tokenizer.encode_special_tokens = True
    assert pipeline_of(tokenizer) == before


def test_a_special_token_of_white_space_stays_special_when_it_is_added_again() -> None:
    tokenizer = corpus.load_tokenizer("unigram_t5")
    tokenizer.add_special_tokens([AddedToken("\t\t", normalized=True, lstrip=True)])
    tokenizer.add_tokens([AddedToken("\t\t", normalized=True, lstrip=True)])
    core = build_core(pipeline_of(tokenizer))
    for split in (False, True):
        tokenizer.encode_special_tokens = split
        for text in ("\t\t", "a \t\tb", "\u3000\t "):
            expected = tokenizer.encode(text, add_special_tokens=False).ids
            assert core.encode(text, split_special_tokens=split) == expected


def _with_a_space_in_normalized_text(tokenizer: Tokenizer) -> None:
    """Its string is that of a special token, U+2581, but its content is not."""
    tokenizer.add_special_tokens([AddedToken("\u2581", normalized=False)])
    tokenizer.add_tokens([AddedToken(" ", normalized=True)])


def _with_a_character_added_again(tokenizer: Tokenizer) -> None:
    """As text, its ids hold the id that it has as a token, but not alone: U+2581 is prepended to it."""
    tokenizer.add_special_tokens([AddedToken("\u653e", normalized=True)])
    tokenizer.add_tokens([AddedToken("\u653e", normalized=False)])


@pytest.mark.parametrize(
    ("name", "add"), [("tiny_gemma", _with_a_space_in_normalized_text), ("tiny_llama2", _with_a_character_added_again)]
)
def test_which_tokens_are_special_where_their_strings_do_not_tell(name: str, add: Any) -> None:
    tokenizer = corpus.load_tokenizer(name)
    add(tokenizer)
    core = build_core(pipeline_of(tokenizer))
    for split in (False, True):
        tokenizer.encode_special_tokens = split
        for text in (" ", "a b", "\u2581", "a\u2581\u653e", "\u653e", " \u653e", "a\u653e ", "\u653e\u653e"):
            expected = tokenizer.encode(text, add_special_tokens=False).ids
            assert core.encode(text, split_special_tokens=split) == expected


def test_bytes_that_the_vocabulary_lacks_are_dropped_before_merging() -> None:
    vocabulary = {stand_in: number for number, stand_in in enumerate(alphabet()) if number not in (3, 0xF2)}
    vocabulary["!!"] = 300
    tokenizer = tokenizer_with(model=models.BPE(vocabulary, [("!", "!")]))
    assert pipeline_of(tokenizer).model.dropped_bytes == bytes([3, 0xF2])
    assert tokenizer.encode("!\x03!").ids == tokenizer.encode("!!").ids == [300]
    assert tokenizer.encode("\x03").ids == []
    assert tokenizer.encode("\U00080000").ids == [0x80, 0x80, 0x80]


def test_added_tokens() -> None:
    tokenizer = tokenizer_with(normalizer=normalizers.NFC())
    cafes = [AddedToken("Cafe\u0301", normalized=True), AddedToken("cafe\u0301", normalized=False)]
    tokenizer.add_tokens([*cafes, AddedToken("<x>", lstrip=True, normalized=False)])
    tokenizer.add_special_tokens([AddedToken("<y>", single_word=True, rstrip=True)])
    found = pipeline_of(tokenizer).added_tokens
    expected = expected_added_tokens(json.loads(tokenizer.to_str()), tokenizer.normalizer)
    assert [token._asdict() for token in found] == expected
    assert [token.content for token in found] == ["Caf\u00e9", "cafe\u0301", "<x>", "<y>"]


def test_added_tokens_that_normalization_makes_equal() -> None:
    def with_tokens(normalizer: Any, *tokens: AddedToken) -> Tokenizer:
        tokenizer = tokenizer_with(normalizer=normalizer)
        tokenizer.add_tokens(list(tokens))
        return tokenizer

    two = [AddedToken("Cafe\u0301", normalized=True), AddedToken("Caf\u00e9", normalized=True)]
    raw = [AddedToken(token.content, normalized=False) for token in two]
    assert "two added tokens have the content 'Caf\u00e9'" in reason_of(with_tokens(normalizers.NFC(), *two))
    assert "has more than 1,024 bytes" in reason_of(with_tokens(None, "\u00e9" * 513))
    assert len(pipeline_of(with_tokens(None, *two)).added_tokens) == 2
    assert len(pipeline_of(with_tokens(normalizers.NFC(), *raw)).added_tokens) == 2
    assert len(pipeline_of(with_tokens(normalizers.NFC(), two[0], raw[1])).added_tokens) == 2


def test_a_normalizer_set_after_the_tokens_counts_for_them() -> None:
    """So an added token's content is normalized by the normalizer that is read."""
    tokenizer = tokenizer_with()
    tokenizer.add_tokens([AddedToken("Cafe\u0301", normalized=True)])
    tokenizer.normalizer = normalizers.NFC()
    found = tokenizer.encode("Caf\u00e9").ids == [tokenizer.token_to_id("Cafe\u0301")]
    # Before 0.23 only a tokenizer that is loaded has it so; any other one is found out by the self-check.
    assert found == (Version(tokenizers.__version__) >= Version("0.23"))
    if not found:
        assert Encoder(tokenizer).explain()["route"] == "hf"


SPECIAL = [("[A]", 5), ("[B]", 6)]
TEMPLATE = processors.TemplateProcessing
SEVERAL_IDS = TEMPLATE(
    single="[many] $A [A]",
    pair="$A $B",
    special_tokens=[{"id": "[many]", "ids": [7, 8, 9], "tokens": ["x", "y", "z"]}, ("[A]", 5)],
)


@pytest.mark.parametrize(
    ("processor", "expected"),
    [
        (None, PostProcessor()),
        (processors.ByteLevel(), PostProcessor()),
        (processors.Sequence([]), PostProcessor()),
        (processors.BertProcessing(("s", 1), ("c", 2)), PostProcessor((2,), (1,))),
        (processors.RobertaProcessing(("s", 1), ("c", 2)), PostProcessor((2,), (1,))),
        (TEMPLATE("$A", "$A $B", []), PostProcessor()),
        (TEMPLATE("[A] [B] $A [B] [A] [A]", "$A $B", SPECIAL), PostProcessor((5, 6), (6, 5, 5))),
        (TEMPLATE("[A]:1 $A:0", "$A $B", SPECIAL), PostProcessor((5,), (), False)),
        (TEMPLATE("$A:1", "$A $B", []), PostProcessor((), (), False)),
        (SEVERAL_IDS, PostProcessor((7, 8, 9), (5,))),
        (processors.Sequence([processors.ByteLevel(), TEMPLATE("[A] $A", "$A $B", SPECIAL)]), PostProcessor((5,))),
        (processors.Sequence([TEMPLATE("[A] $A", "$A $B", SPECIAL), processors.ByteLevel()]), PostProcessor((5,))),
    ],
)
def test_post_processors(processor: Any, expected: PostProcessor) -> None:
    tokenizer = tokenizer_with()
    if processor is not None:
        tokenizer.post_processor = processor
    pipeline = pipeline_of(tokenizer)
    assert pipeline.post_processor == expected
    assert_ids_around_the_text(tokenizer, pipeline)


def hard_texts() -> list[str]:
    pairs = [a + b for a in representatives.SNIPPETS for b in representatives.SNIPPETS]
    return pairs + [text for family in corpus.conformance_families() for text in corpus.conformance(family)[:60]]


def pieces(pre_tokenizer: pre_tokenizers.PreTokenizer, text: str) -> list[tuple[str, tuple[int, int]]]:
    return pre_tokenizer.pre_tokenize_str(text)


@pytest.mark.parametrize("spelling", list(patterns.MATCHERS))
def test_every_spelling_of_a_pattern_splits_alike(spelling: str) -> None:
    first = next(text for text, name in patterns.MATCHERS.items() if name == patterns.MATCHERS[spelling])
    one, other = SPLIT(Regex(first), "isolated"), SPLIT(Regex(spelling), "isolated")
    for text in hard_texts()[:: tier.pick(5, 1)] + corpus.texts("multi", 50_000) + corpus.texts("code", 50_000):
        assert pieces(one, text) == pieces(other, text)


def test_the_newer_cl100k_pattern_of_tiktoken_is_a_different_one() -> None:
    later = (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    )
    assert later not in patterns.MATCHERS
    one, other = SPLIT(Regex(patterns.CL100K), "isolated"), SPLIT(Regex(later), "isolated")
    assert pieces(one, "123456") != pieces(other, "123456")
    assert pieces(one, "a\n ") != pieces(other, "a\n ")


COVERING_PATTERNS = [pattern for pattern, name in patterns.MATCHERS.items() if name in patterns.COVERING]
BEHAVIORS = ["isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous"]


@pytest.mark.parametrize("pattern", COVERING_PATTERNS)
def test_covering_patterns_leave_no_character_out(pattern: str) -> None:
    removed = SPLIT(Regex(pattern), "removed")
    assert not any(pieces(removed, text) for text in hard_texts())
    every_character = oracle.to_text(oracle.SCALAR_VALUES[:: tier.pick(5, 1)])
    for first in range(0, len(every_character), 1 << 14):
        batch = every_character[first : first + (1 << 14)]
        assert pieces(removed, batch) == []
        assert pieces(removed, "a".join(batch)) == []


def test_every_matcher_that_is_not_covering_leaves_some_character_out() -> None:
    for pattern, name in patterns.MATCHERS.items():
        assert (pieces(SPLIT(Regex(pattern), "removed"), "a1\x00中 ") == []) == (name in patterns.COVERING)


def rebuilt(pre_tokenizer: PreTokenizer, use_byte_level: bool = True) -> pre_tokenizers.PreTokenizer:
    """A Hugging Face pre-tokenizer that does by slow, separate steps what was read."""
    canonical = {name: text for text, name in reversed(patterns.MATCHERS.items())}

    def step(refinement: Refinement) -> pre_tokenizers.PreTokenizer:
        behavior, invert = refinement.behavior, refinement.invert
        if refinement.matcher == "punctuation":
            return pre_tokenizers.Punctuation(behavior)
        if refinement.matcher == "numeric":
            return pre_tokenizers.Digits(individual_digits={"isolated": True, "contiguous": False}[behavior])
        return SPLIT(Regex(canonical[refinement.matcher]), behavior, invert)

    scanners = {
        "whole": [],
        "deepseek_v3": [Refinement(f"deepseek_{part}", "isolated") for part in ("numbers", "cjk", "main")],
        "falcon": [Refinement("punctuation", "contiguous"), Refinement("gpt2", "isolated")],
        "clip": [Refinement("clip", "removed", invert=True)],  # what lies between its matches is left out
    }
    first = scanners.get(pre_tokenizer.scanner, [Refinement(pre_tokenizer.scanner, "isolated")])
    prefix_only = pre_tokenizers.Metaspace(replacement=" ", prepend_scheme="always", split=False)
    before = [prefix_only] if pre_tokenizer.add_prefix_space else []
    before += [step(r) for r in (*first, *pre_tokenizer.refinements) if not r.after_byte_level]
    return SEQUENCE([*before, TO_BYTES, *(step(r) for r in pre_tokenizer.refinements if r.after_byte_level)])


def state_of(component: Any) -> dict[str, Any]:
    state: dict[str, Any] = json.loads(component.__getstate__())
    return state


@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("behavior", BEHAVIORS)
@pytest.mark.parametrize("matcher", [*sorted(patterns.COVERING), "deepseek_main", "three_digits"])
def test_every_behavior_of_a_split(matcher: str, behavior: str, invert: bool) -> None:
    pattern = next(text for text, name in patterns.MATCHERS.items() if name == matcher)
    original = SEQUENCE([SPLIT(Regex(pattern), behavior, invert), TO_BYTES])
    found = read_pre_tokenizer(state_of(original))
    assert isinstance(found, PreTokenizer)
    fused = matcher in patterns.COVERING and (
        behavior in ("isolated", "merged_with_previous", "merged_with_next") or (behavior, invert) == ("removed", True)
    )
    assert found.scanner == (matcher if fused else "whole")
    assert len(found.refinements) == (0 if fused else 1)
    again = rebuilt(found)
    for text in hard_texts()[:: tier.pick(17, 3)]:
        assert pieces(original, text) == pieces(again, text)


@pytest.mark.parametrize("behavior", BEHAVIORS)
def test_every_behavior_of_punctuation(behavior: str) -> None:
    found = read_pre_tokenizer(state_of(SEQUENCE([pre_tokenizers.Punctuation(behavior), TO_BYTES])))
    assert found == PreTokenizer("whole", (Refinement("punctuation", behavior),), False)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("steps", "scanner", "refinements"),
    [
        ([pre_tokenizers.ByteLevel(False)], "gpt2", ()),
        ([SPLIT(Regex(patterns.GPT2), "isolated"), TO_BYTES], "gpt2", ()),
        (
            [SPLIT(Regex(patterns.QWEN2), "isolated"), pre_tokenizers.ByteLevel(False)],
            "qwen2",
            (Refinement("gpt2", "isolated"),),
        ),
        ([pre_tokenizers.Punctuation("contiguous"), SPLIT(Regex(patterns.GPT2), "isolated"), TO_BYTES], "falcon", ()),
        (
            [pre_tokenizers.Punctuation("isolated"), pre_tokenizers.ByteLevel(False)],
            "whole",
            (Refinement("punctuation", "isolated"), Refinement("gpt2", "isolated")),
        ),
        (
            [
                SEQUENCE([SPLIT(Regex(patterns.DEEPSEEK_NUMBERS), "isolated")]),
                SPLIT(Regex(patterns.DEEPSEEK_CJK), "isolated"),
                TO_BYTES,
            ],
            "whole",
            (Refinement("deepseek_numbers", "isolated"), Refinement("deepseek_cjk", "isolated")),
        ),
        ([TO_BYTES, pre_tokenizers.Digits(True)], "whole", (Refinement("numeric", "isolated", after_byte_level=True),)),
    ],
)
def test_first_steps_are_fused_only_when_they_are_exactly_those(
    steps: list[Any], scanner: str, refinements: tuple[Refinement, ...]
) -> None:
    assert read_pre_tokenizer(state_of(SEQUENCE(steps))) == PreTokenizer(scanner, refinements, False)


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([SPLIT(Regex(patterns.KIMI), "isolated"), pre_tokenizers.Digits(True), TO_BYTES], "after Kimi's pattern"),
        ([pre_tokenizers.Digits(True), SPLIT(Regex(patterns.KIMI), "isolated"), TO_BYTES], "split pattern kimi"),
    ],
)
def test_kimi_beside_other_steps_is_left_to_the_reference(steps: list[Any], reason: str) -> None:
    """Its classes of characters are not those of the other patterns."""
    with pytest.raises(Unsupported, match=reason):
        build_core(pipeline_of(tokenizer_with(pre_tokenizer=SEQUENCE(steps))))


TEXT_STEPS = st.one_of(
    st.builds(
        lambda pattern, behavior, invert: SPLIT(Regex(pattern), behavior, invert),
        st.sampled_from(list(patterns.MATCHERS)),
        st.sampled_from(BEHAVIORS),
        st.booleans(),
    ),
    st.builds(pre_tokenizers.Digits, st.booleans()),
    st.builds(pre_tokenizers.Punctuation, st.sampled_from(BEHAVIORS)),
)
BYTE_STEPS = st.one_of(
    st.builds(lambda behavior: SPLIT(Regex(patterns.THREE_DIGITS), behavior), st.sampled_from(BEHAVIORS)),
    st.builds(pre_tokenizers.Digits, st.booleans()),
    st.builds(pre_tokenizers.Punctuation, st.sampled_from(BEHAVIORS)),
)


@st.composite
def supported_pre_tokenizers(draw: st.DrawFn) -> pre_tokenizers.PreTokenizer:
    before = draw(st.lists(TEXT_STEPS, max_size=3))
    after = draw(st.lists(BYTE_STEPS, max_size=2))
    prefix_space = draw(st.booleans()) and not before
    steps = [*before, pre_tokenizers.ByteLevel(prefix_space, use_regex=draw(st.booleans())), *after]
    cut = draw(st.integers(0, len(steps)))
    return draw(st.sampled_from([SEQUENCE(steps), SEQUENCE([*steps[:cut], SEQUENCE(steps[cut:])])]))


@given(supported_pre_tokenizers(), st.lists(strategies.texts(), min_size=1, max_size=5))
def test_a_pattern_that_was_read_splits_like_the_original(
    original: pre_tokenizers.PreTokenizer, texts: list[str]
) -> None:
    found = read_pre_tokenizer(state_of(original))
    assert isinstance(found, PreTokenizer)
    again = rebuilt(found)
    for text in texts:
        assert [piece for piece, _ in pieces(original, text)] == [piece for piece, _ in pieces(again, text)]


@settings(max_examples=tier.pick(10, 100))
@given(supported_pre_tokenizers())
def test_the_description_is_stable(pre_tokenizer: pre_tokenizers.PreTokenizer) -> None:
    tokenizer = tokenizer_with(pre_tokenizer=pre_tokenizer, normalizer=normalizers.NFC())
    first = pipeline_of(tokenizer)
    assert pipeline_of(tokenizer) == first
    from_file = pipeline_of(Tokenizer.from_str(tokenizer.to_str()))
    assert from_file == first
    assert describe(from_file) == describe(first)


NAMES = ['"', "\\", '","', '"],["', '"merges":[', ',"merges":[[', "a,"]
NAMES += ["\n\t\b\f\r", "\x00\x1f\x7f", "é", "中", "😀", "\u2028"]


def test_entries_and_merges_are_read_from_their_json_as_they_are() -> None:
    """The core parses both itself, whatever their names contain and however JSON spells them."""
    single = sorted({character for name in NAMES for character in name} | set("ab?\u2581"))
    vocabulary = {name: number for number, name in enumerate(dict.fromkeys([*single, *NAMES]))}
    merges: list[list[str]] = []
    for name in NAMES:
        for end in range(2, len(name) + 1):
            vocabulary.setdefault(name[:end], len(vocabulary))
            merges.append([name[: end - 1], name[end - 1]])
    tokenizer = Tokenizer(models.BPE(vocabulary, [(left, right) for left, right in merges], unk_token="?"))
    state = tokenizer.model.__getstate__()
    elsewhere = json.dumps({"merges": merges, **json.loads(state), "later": 0}).encode()
    for options, entries, split in (split_state(elsewhere, len(vocabulary)), split_state(state, len(vocabulary))):
        assert options | {"vocab": dict(entries), "merges": list(split)} == json.loads(state) | options
        assert (entries, list(split)) == (vocabulary, merges)

    def tables(vocabulary: Any, text: bytes) -> Any:
        core = native_cores.make_core(vocabulary, text, unknown_characters=("?", False, False))
        return [core.encode(text) for text in texts]

    def spelled(value: Any) -> list[bytes]:
        return [json.dumps(value, **options).encode() for options in ({}, {"ensure_ascii": False}, {"indent": 2})]

    texts = [*NAMES, "".join(NAMES), "".join(reversed(NAMES))]
    ids = tables((entries.text, len(vocabulary)), split.text)
    assert tables(vocabulary, split.text) == ids
    for names, pairs in zip(spelled(vocabulary), spelled(merges), strict=True):
        assert tables((names, len(vocabulary)), pairs) == ids
    assert ids == [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]


NO_MERGES = r"""
[
[]]
[[]]
{}
[1]
\
["a"]
[["a"]]
[["a","b"]
[["a","b"],]
[["a" "b"]]
[["a","b"]] x
[["a","b","c"]]
[["a","b]]
[["a","\
[["a","\x"]]
[["a","\u12"]]
[["a","\udc00"]]
[["a","\ud800"]]
[["a","\ud800\u0041"]]
"""


@pytest.mark.parametrize("text", NO_MERGES.split("\n"))
def test_an_invalid_merge_list_is_refused(text: str) -> None:
    vocabulary = {"a": 0, "b": 1, "?": 2, "\u2581": 3}
    with pytest.raises(ValueError, match="merge"):
        native_cores.make_core(vocabulary, text.encode(), unknown_characters=("?", False, False))


NO_VOCABULARY = r"""
{
[]
{"a"}
{"a":}
{"a":1,}
{"a":1
{"a":1}}
{"a" 1}
{"a":-1}
{"a":1.0}
{"a":1e0}
{"a":"1"}
{"a":null}
{a:1}
{"a:1}
{"a\
{"\ud800":1}
{"a":1048575}
{"a":99999999999999999999}
{"a":1,"a":2}
{"a":1,"b":1}
{"a":1,"b":2,"c":3}
"""


@pytest.mark.parametrize("text", [*NO_VOCABULARY.encode().split(b"\n"), b'{"\xff":1}'])
def test_an_invalid_vocabulary_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"vocabulary|two entries"):
        native_cores.make_core((text, 2 if b"b" in text else 1), [])


def test_two_entries_of_one_id_are_left_to_hugging_face() -> None:
    model = byte_level_model()
    vocabulary = {**tokenizer_with(model=model).get_vocab(), "abab": 256}
    tokenizer = tokenizer_with(model=models.BPE(vocabulary, [("a", "b")]))
    encoder = Encoder(tokenizer)
    assert encoder.explain()["reason"].startswith("model BPE has two entries with one id")
    with pytest.raises(Unsupported, match="two entries with one id"):
        dict(read_pipeline(tokenizer).model.vocabulary)  # type: ignore[union-attr]


@pytest.mark.parametrize("largest", [1 << 20, (1 << 31) - 1, (1 << 32) - 1])
@pytest.mark.parametrize("kind", ["BPE", "WordPiece"])
@pytest.mark.parametrize("huge", ["a", "[UNK]", "ab"])
def test_huge_ids_are_refused_before_the_state_is_asked_for(kind: str, largest: int, huge: str) -> None:
    """Hugging Face writes a model's state in time and memory that grow with the largest id: gigabytes for 2^31."""
    vocabulary = {"a": 0, "b": 1, "[UNK]": 2, "ab": 3, huge: largest}
    model = models.BPE(vocabulary, [("a", "b")]) if kind == "BPE" else models.WordPiece(vocabulary, unk_token="[UNK]")
    tokenizer = Tokenizer(model)
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = byte_level if kind == "BPE" else pre_tokenizers.BertPreTokenizer()
    with pytest.raises(Unsupported, match=f"has the id {largest}"):
        read_pipeline(tokenizer)
    encoder = Encoder(tokenizer)
    assert encoder.encode_list("ab a") == tokenizer.encode("ab a").ids
    assert encoder.decode_ids([largest, 0]) == tokenizer.decode([largest, 0], skip_special_tokens=False)
