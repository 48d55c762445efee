"""The ledger of SGLang: every name of SGLang that the plugin calls or hooks.

"No start": a server or an Engine with `tokenizer_backend="lopt"` raises RuntimeError instead of running Hugging Face.
"""

from __future__ import annotations

from ..ledger import TouchedName

LOAD_PLUGINS = TouchedName(
    "sglang.srt.plugins:load_plugins",
    why="Called: loads this plugin into a process that SGLang does not load plugins into.",
    since="0.5.14",
    without="`tokenizer_backend()` and the tokenizer workers' application raise an ImportError.",
    until="SGLang loads plugins in every process (patches/sglang).",
)
HOOK_REGISTRY = TouchedName(
    "sglang.srt.plugins.hook_registry:HookRegistry",
    why="Called: registers the hooks below.",
    since="0.5.14",
    without="The error is logged, and the backend stays unknown.",
    until="Stays: SGLang's interface for plugins.",
)
HOOK_TYPE = HOOK_REGISTRY._replace(name="sglang.srt.plugins.hook_registry:HookType")
SERVER_ARGS = TouchedName(
    "sglang.srt.server_args:ServerArgs",
    why="Called: `lopt` is added to the choices of its `tokenizer_backend`.",
    since="0.5.23",
    without="The error is logged. The command line refuses the backend; an Engine accepts it.",
    until="A plugin may register a tokenizer backend.",
)
CHECK_SERVER_ARGS = HOOK_REGISTRY._replace(
    name="sglang.srt.server_args:ServerArgs.check_server_args",
    why="Hooked: refuses to start with this backend unless the other hooks work.",
    until="SGLang refuses unknown backends (patches/sglang), and fails when a hook fails.",
    parameters=("self", "..."),
)
GET_TOKENIZER = TouchedName(
    "sglang.srt.utils.hf_transformers.tokenizer:get_tokenizer",
    why="Hooked: accelerates the tokenizer that the backend `huggingface` loads.",
    since="0.5.14",
    without="No start.",
    until="A plugin may register a tokenizer backend.",
    parameters=("tokenizer_name", "args", "..."),
)
GET_PROCESSOR = GET_TOKENIZER._replace(
    name="sglang.srt.utils.hf_transformers.processor:get_processor",
    why="Hooked: accelerates the tokenizer of the processor that the backend `huggingface` loads.",
)
MANAGER = "sglang.srt.managers.tokenizer_manager"
# The module that tokenizes prompts imports the two by name. The hooks have to reach these names too.
MANAGER_GET_TOKENIZER = GET_TOKENIZER._replace(
    name=f"{MANAGER}:get_tokenizer", why="Called with a probe: tells whether the hook is in place."
)
MANAGER_GET_PROCESSOR = MANAGER_GET_TOKENIZER._replace(name=f"{MANAGER}:get_processor")
DETOKENIZER_GET_TOKENIZER = GET_TOKENIZER._replace(
    name="sglang.srt.managers.detokenizer_manager:get_tokenizer",
    why="Reached by the hook: the tokenizer that the detokenizer's process loads decodes natively.",
    since="0.5.22",
    without="Hugging Face decodes.",
)
REQUEST = TouchedName(
    f"{MANAGER}:TokenizedGenerateReqInput",
    why="Read: whether a request to the scheduler has its ids as an array.",
    since="0.5.14",
    without="The hooks below are not registered: ids go to the scheduler as a list, prompts are tokenized one by one.",
    until="SGLang accepts an array of ids from its tokenizer.",
)
CREATE_TOKENIZED = REQUEST._replace(
    name=f"{MANAGER}:TokenizerManager._create_tokenized_object",
    why="Hooked: makes the array of ids from a list in one native pass.",
    without="A warning is logged. As for TokenizedGenerateReqInput.",
    parameters=("self", "obj", "input_text", "input_ids", "..."),
)
TOKENIZE_TEXTS = CREATE_TOKENIZED._replace(
    name=f"{MANAGER}:TokenizerManager._tokenize_texts",
    why="Hooked: marks the calls of the tokenizer whose ids may be arrays.",
    parameters=("self", "texts", "..."),
)
HANDLE_BATCH = TouchedName(
    f"{MANAGER}:TokenizerManager._handle_batch_request",
    why="Hooked: tokenizes the next prompts of a list while the current one is sent.",
    since="0.5.14",
    without="A warning is logged. The prompts of a list are tokenized one by one.",
    until="SGLang asks the tokenizer for the prompts of a list as one batch by default.",
    parameters=("self", "obj", "..."),
)
ENVIRONMENT = LOAD_PLUGINS._replace(
    name="sglang.srt.environ:envs",
    why="Read: whether SGLang knows SGLANG_HTTP_SERVER_APP_PATH.",
    since="0.5.23",
    without="No start with several tokenizer workers.",
)
HTTP_SERVER = LOAD_PLUGINS._replace(
    name="sglang.srt.entrypoints.http_server",
    why="Read: whether it loads plugins in tokenizer workers (patches/sglang). `app.py` imports its `app`.",
    without="The tokenizer workers fail to start.",
)
LEDGER = tuple(entry for entry in list(globals().values()) if isinstance(entry, TouchedName))
