"""The ledger of vLLM: every name of vLLM that the plugin calls, hooks or overrides.

"Refused": `register` logs the error, and vLLM refuses `--tokenizer-mode lopt`.
"Own renderer": a warning is logged, and vLLM's own renderer tokenizes one prompt at a time, with the same ids.
"""

from __future__ import annotations

from ..ledger import TouchedName

TOKENIZER_REGISTRY = TouchedName(
    "vllm.tokenizers.registry:TokenizerRegistry",
    why="Called: registers the tokenizer of the mode `lopt`.",
    since="0.15.0",
    without="Refused.",
    until="Stays: vLLM's interface for plugins.",
)
RENDERER_REGISTRY = TOKENIZER_REGISTRY._replace(
    name="vllm.renderers.registry:RENDERER_REGISTRY", why="Called: registers the renderers of the mode `lopt`."
)
GET_TOKENIZER = TouchedName(
    "vllm.tokenizers.registry:get_tokenizer",
    why="Called: loads the tokenizer that the mode `auto` would load.",
    since="0.15.0",
    without="vLLM fails to load the tokenizer of the mode `lopt`, with an ImportError or a TypeError.",
    until="A plugin may wrap a tokenizer that vLLM has loaded.",
    parameters=("tokenizer_name", "args", "..."),
)
TOKENIZER_ARGS_FROM_CONFIG = GET_TOKENIZER._replace(
    name="vllm.tokenizers.registry:tokenizer_args_from_config",
    why="Called: finds the mode, and so the renderer, that `auto` would choose.",
    since="0.24.0",
    without="The error is logged, and the Hugging Face renderer is used.",
    parameters=("config", "..."),
)
MODEL_CONFIG = TouchedName(
    "vllm.config.model:ModelConfig.__post_init__",
    why="Hooked: sees the mode `auto` while it looks for a mode that belongs to the architecture.",
    since="0.15.0",
    without="The error is logged. Architectures with a prompt format of their own lose it in the mode `lopt`.",
    until="vLLM chooses the renderer of an architecture in every tokenizer mode.",
    parameters=("self", "..."),
)
LOAD_RENDERER = GET_TOKENIZER._replace(
    name="vllm.renderers.registry:RendererRegistry.load_renderer",
    why="Hooked: gives the renderer an accelerated tokenizer, in whatever mode it was loaded.",
    without="The error is logged. LOPT_ACCELERATE and the metrics do nothing; vLLM's own renderer is used.",
    parameters=("self", "renderer_mode", "config", "tokenizer"),
)
THREAD_SAFE_MIXIN = TouchedName(
    "vllm.tokenizers.hf:ThreadSafeHFTokenizerMixin",
    why="Base class: marks a tokenizer that several threads may use, so that vLLM makes no pool of copies.",
    since="0.24.0",
    without="The error is logged, and vLLM makes deep copies of the tokenizer.",
    until="Stays: vLLM's own mark.",
)
HF_RENDERER = TouchedName(
    "vllm.renderers.hf:HfRenderer",
    why="Base class of our renderer.",
    since="0.15.0",
    without="Own renderer.",
    until="vLLM asks the tokenizer for the prompts of a list as one batch.",
    parameters=("config", "tokenizer"),
)
TOKENIZE_PROMPT = HF_RENDERER._replace(
    name="vllm.renderers.hf:HfRenderer._tokenize_prompt",
    why="Overridden: makes the list of ids and nothing else. At start-up its result is compared with vLLM's.",
    since="0.24.0",
    parameters=("self", "prompt", "params"),
)
TOKENIZE_PROMPTS = TOKENIZE_PROMPT._replace(
    name="vllm.renderers.hf:HfRenderer.tokenize_prompts",
    why="Overridden: tokenizes the prompts of a list as one batch.",
    parameters=("self", "prompts", "params"),
)
TOKENIZE_PROMPTS_ASYNC = TOKENIZE_PROMPTS._replace(name="vllm.renderers.hf:HfRenderer.tokenize_prompts_async")
VALIDATE_TOKEN_IDS = TouchedName(
    "vllm.renderers.hf:HfRenderer.validate_token_ids",
    why="Overridden: looks for ids out of range in one native pass; calls vLLM's if there is one.",
    since="0.32.0",
    without="Nothing: nobody calls ours.",
    until="vLLM does not validate ids that its tokenizer made.",
    parameters=("self", "token_ids", "..."),
)
ADD_COMPLETION_REQUESTS = TOKENIZE_PROMPTS._replace(
    name="vllm.entrypoints.llm:LLM._add_completion_requests",
    why="Hooked: `LLM.generate` tokenizes its next prompts while it adds the current one.",
    parameters=("self", "prompts", "..."),
)
DETOKENIZER = TouchedName(
    "vllm.v1.engine.detokenizer:FastIncrementalDetokenizer.__init__",
    why="Hooked: replaces the stream that it has made, `self.stream`, by a native one.",
    since="0.32.0",
    without="A warning is logged, or nothing where streams begin in another way. Hugging Face decodes streams.",
    until="vLLM asks the tokenizer for its streams.",
    parameters=("self", "tokenizer", "request"),
)

TEKKENIZER = TouchedName(
    "mistral_common.tokens.tokenizers.tekken:Tekkenizer.encode",
    why="Its object's `_model`, a tiktoken encoding, is replaced by an accelerated one.",
    since="0.32.0",
    without="A warning is logged, and tiktoken encodes.",
    until="vLLM's Mistral tokenizer accepts an encoding of others.",
    parameters=("self", "s", "bos", "eos"),
)
KIMI_AUDIO = TEKKENIZER._replace(
    name="vllm.tokenizers.kimi_audio:KimiAudioTokenizer.encode",
    why="Its object's `_tokenizer`, a tiktoken encoding, is replaced by an accelerated one.",
    until="vLLM's Kimi-Audio tokenizer accepts an encoding of others.",
    parameters=("self", "text", "..."),
)
ENCODE = TEKKENIZER._replace(
    name="tiktoken:Encoding.encode",
    why="Overridden: the encoding inside a tokenizer of vLLM or of a model gives ids by the native core.",
    parameters=("self", "text", "allowed_special", "disallowed_special"),
)
ENCODE_ORDINARY = ENCODE._replace(name="tiktoken:Encoding.encode_ordinary", parameters=("self", "text"))

ENCODING_METHODS = (ENCODE, ENCODE_ORDINARY)
RENDERER_METHODS = (TOKENIZE_PROMPT, TOKENIZE_PROMPTS, TOKENIZE_PROMPTS_ASYNC)

# Not here, as they belong to a renderer object: `_tokenize_prompt_async` (replaced; without it, own renderer) and
# `_executor` (runs the batch of a list of prompts; without it, such a request fails).
LEDGER = tuple(entry for entry in list(globals().values()) if isinstance(entry, TouchedName))
