"""vLLM: `--tokenizer-mode lopt`, and LOPT_ACCELERATE=1 for the tokenizer of any other mode.

vLLM calls `register` (entry-point group vllm.general_plugins) in the API server, the engine core and every worker.

The mode `lopt` is whatever vLLM's own `auto` chooses for the model, accelerated where that is a Hugging Face fast
tokenizer. vLLM treats its `hf` mode and some architectures apart (Mistral files, wrong tokenizer classes on the hub,
models with a prompt format of their own), and differently from version to version; so vLLM itself decides, by three
means:
  - the tokenizer is loaded by vLLM's get_tokenizer under `auto`;
  - ModelConfig sees `auto` while it looks for a mode that belongs to the architecture;
  - the renderer is the one that `auto` has for that tokenizer.

Whatever fails in here is logged, and vLLM goes on with the tokenizer it would have had.
"""

from __future__ import annotations

import functools
import inspect
import logging
import os
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import prometheus
from .acceleration import Accelerated, ActiveLines, accelerated_or_reason
from .active_line import show_our_log
from .vllm_batches import generate as generate
from .vllm_threads import keep_calls_as_they_are, marked_thread_safe

MODE = "lopt"
ACCELERATE_VARIABLE = "LOPT_ACCELERATE"
RENDERER_VARIABLE = "LOPT_RENDERER"
# The renderer mode of LoptRenderer; nobody chooses it by this name.
RENDERER_MODE = "lopt_renderer"

# The methods of vLLM's renderer that ours stands on.
RENDERER_METHODS = {
    "_tokenize_prompt": ["self", "prompt", "params"],
    "tokenize_prompts": ["self", "prompts", "params"],
    "tokenize_prompts_async": ["self", "prompts", "params"],
}

# Those that ran the engine tests. The README's table says when.
TRIED_VERSIONS = ("0.24.0", "0.32.0")

# Below "vllm", so that vLLM's own handlers, levels and process names apply.
logger = logging.getLogger("vllm.lopt_plugin")


def register() -> None:
    """Makes the mode known to this process. May be called any number of times; never raises."""
    for step in (_register_mode, _hook_model_config, _hook_renderers, _show_our_log):
        try:
            step()
        except Exception:
            logger.exception(
                "lopt_plugin: %s failed with vLLM %s; vLLM goes on without it",
                step.__name__.strip("_"),
                _vllm_version(),
            )


class LoptTokenizer:
    """What the mode `lopt` loads. Never instantiated: vLLM calls `from_pretrained` only."""

    @classmethod
    def from_pretrained(cls, path_or_repo_id: str | Path, *args: Any, **kwargs: Any) -> Any:
        """The tokenizer that vLLM's mode `auto` loads with these arguments, accelerated if it can be."""
        from vllm.tokenizers.registry import get_tokenizer

        return _accelerated(get_tokenizer(path_or_repo_id, *args, tokenizer_mode="auto", **kwargs), shared=False)


def _register_mode() -> None:
    from vllm.renderers.registry import RENDERER_REGISTRY
    from vllm.tokenizers.registry import TokenizerRegistry

    if MODE not in TokenizerRegistry.tokenizers:
        TokenizerRegistry.register(MODE, __name__, LoptTokenizer.__name__)
    if MODE not in RENDERER_REGISTRY.renderers:
        RENDERER_REGISTRY.register(MODE, "vllm.renderers.hf", "HfRenderer")
    if RENDERER_MODE not in RENDERER_REGISTRY.renderers:
        RENDERER_REGISTRY.register(RENDERER_MODE, "lopt_plugin.engines.vllm_renderer", "LoptRenderer")


def _hook_model_config() -> None:
    from vllm.config.model import ModelConfig

    _wrap(ModelConfig, "__post_init__", _let_auto_choose)


def _hook_renderers() -> None:
    from vllm.renderers.registry import RendererRegistry

    _wrap(RendererRegistry, "load_renderer", _give_accelerated_tokenizer)


def _show_our_log() -> None:
    show_our_log("vllm")


def _wrap(owner: type, name: str, wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    method = getattr(owner, name)
    if not hasattr(method, "_lopt_wrapped"):
        wrapped = functools.wraps(method)(wrapper(method))
        wrapped._lopt_wrapped = method  # type: ignore[attr-defined]
        setattr(owner, name, wrapped)


def _let_auto_choose(post_init: Callable[..., None]) -> Callable[..., None]:
    def post_init_under_auto(self: Any, *args: Any, **kwargs: Any) -> None:
        if self.tokenizer_mode != MODE:
            return post_init(self, *args, **kwargs)
        self.tokenizer_mode = "auto"
        post_init(self, *args, **kwargs)
        if self.tokenizer_mode == "auto":
            self.tokenizer_mode = MODE
        else:
            # Processes that are started from here on inherit it.
            os.environ[ACCELERATE_VARIABLE] = "1"
            logger.warning(
                "lopt_plugin: vLLM has a tokenizer mode for %s, %r, which is used instead of %r; the Hugging Face "
                "tokenizer in it is accelerated, as with %s=1",
                ", ".join(getattr(self, "architectures", None) or ["this model"]),
                self.tokenizer_mode,
                MODE,
                ACCELERATE_VARIABLE,
            )
        if os.environ.get("VLLM_USE_RUST_FRONTEND", "0") not in ("", "0"):
            logger.warning(
                "lopt_plugin: VLLM_USE_RUST_FRONTEND serves from a binary of its own, which no tokenizer mode reaches"
            )
        return None

    return post_init_under_auto


def _give_accelerated_tokenizer(load_renderer: Callable[..., Any]) -> Callable[..., Any]:
    # Every prompt is tokenized by a renderer, with the tokenizer given to it here, whatever the mode.
    def load_renderer_accelerated(self: Any, renderer_mode: str, config: Any, tokenizer: Any) -> Any:
        if renderer_mode == MODE or _accelerate_every_mode():
            # vLLM keeps one tokenizer for each model, and some model types get one past the class of their mode.
            tokenizer = _accelerated(tokenizer, shared=True)
        if renderer_mode == MODE:
            renderer_mode = _renderer_mode_under_auto(config.model_config)
        if not hasattr(tokenizer, "lopt"):
            _count_left_alone(tokenizer)
            return load_renderer(self, renderer_mode, config, tokenizer)
        tokenizer.lopt.observer = prometheus.observer()
        renderer = None
        ours_fits = renderer_mode in (MODE, "hf") and RENDERER_MODE in self.renderers
        if ours_fits and _is_on(RENDERER_VARIABLE, "1") and _renderer_is_known():
            renderer = _our_renderer(functools.partial(load_renderer, self, RENDERER_MODE, config, tokenizer))
        if renderer is None:
            renderer = load_renderer(self, renderer_mode, config, tokenizer)
        if getattr(renderer, "mm_processor", None) is not None and hasattr(renderer.tokenizer, "lopt"):
            keep_calls_as_they_are(renderer.tokenizer)
        return renderer

    return load_renderer_accelerated


def _renderer_is_known() -> bool:
    """Whether LoptRenderer fits this vLLM; `LLM.generate` then hands it many prompts at a time."""
    try:
        from .vllm_renderer import LoptRenderer, with_texts_ahead

        for name, parameters in RENDERER_METHODS.items():
            if list(inspect.signature(getattr(LoptRenderer.__base__, name)).parameters) != parameters:
                raise TypeError(f"{name} has other parameters")
        offline = sys.modules.get("vllm.entrypoints.llm")
        if offline is not None:
            _wrap(offline.LLM, "_add_completion_requests", with_texts_ahead)
    except Exception as error:
        logger.warning("lopt_plugin: vLLM's own renderer is used, which tokenizes one prompt at a time: %s", error)
        return False
    return True


def _our_renderer(load: Callable[[], Any]) -> Any:
    """LoptRenderer; None, with a warning, where this vLLM's own renderer has to be used."""
    try:
        renderer = load()
        if renderer.tokenizes_as_vllm():
            return renderer
        renderer.shutdown()
        reason = "it makes something else of a prompt than ours"
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
    logger.warning("lopt_plugin: vLLM's own renderer is used, which tokenizes one prompt at a time: %s", reason)
    return None


def _accelerate_every_mode() -> bool:
    return _is_on(ACCELERATE_VARIABLE, "")


def _is_on(variable: str, default: str) -> bool:
    return os.environ.get(variable, default).strip().lower() not in ("", "0", "false", "no", "off")


def _renderer_mode_under_auto(model_config: Any) -> str:
    try:
        from vllm.tokenizers.registry import resolve_tokenizer_args

        mode, *_ = resolve_tokenizer_args(
            model_config.tokenizer,
            runner_type=model_config.runner_type,
            tokenizer_mode="auto",
            revision=model_config.tokenizer_revision,
            trust_remote_code=model_config.trust_remote_code,
        )
    except Exception:
        logger.exception("lopt_plugin: cannot tell which renderer vLLM would choose; the Hugging Face one is used")
        return MODE
    return MODE if mode == "hf" else str(mode)


_lines = ActiveLines("vLLM", lambda: _vllm_version(), TRIED_VERSIONS, logger)

# Tokenizers that were looked at and stay as vLLM made them, and why.
_left_alone: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()


def _accelerated(tokenizer: Any, *, shared: bool) -> Any:
    """The tokenizer, accelerated if it can be; `shared`: others hold it, so that a copy has to be made."""
    if tokenizer is None or hasattr(tokenizer, "lopt") or tokenizer in _left_alone:
        return tokenizer
    outcome = accelerated_or_reason(tokenizer, functools.partial(_accelerate, shared=shared), logger)
    if isinstance(outcome, Accelerated):
        _lines.say(tokenizer, f"takes the {outcome.explained['route']} route", outcome.explained)
        return marked_thread_safe(outcome.tokenizer)
    _left_alone[tokenizer] = outcome
    _lines.say(tokenizer, f"stays as vLLM made it: {outcome}", None)
    return tokenizer


def _accelerate(tokenizer: Any, shared: bool) -> Any:
    from ..settings import Settings
    from ..tokenizer import accelerate, accelerate_in_place

    if shared:
        return accelerate(tokenizer)
    # A new object over the same Rust tokenizer, so that `tokenizer` itself can still be given out.
    accelerated: Any = object.__new__(type(tokenizer))
    accelerated.__dict__.update(tokenizer.__dict__)
    return accelerate_in_place(accelerated, Settings.read())


def _count_left_alone(tokenizer: Any) -> None:
    # Once, when it is loaded: its calls do not come by here.
    reason = None if tokenizer is None else _left_alone.get(tokenizer)
    observer = None if reason is None else prometheus.observer()
    if reason is not None and observer is not None:
        observer.fell_back(reason)


def _vllm_version() -> str:
    try:
        from vllm import __version__
    except ImportError:
        return "of unknown version"
    return str(__version__)
