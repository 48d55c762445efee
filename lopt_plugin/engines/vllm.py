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
import logging
import os
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .active_line import active_line, show_our_log

MODE = "lopt"
ACCELERATE_VARIABLE = "LOPT_ACCELERATE"

# The code of the first and the last was read, as were some between.
OLDEST_KNOWN_VERSION = (0, 24)
NEWEST_KNOWN_VERSION = (0, 33)

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
        return load_renderer(self, renderer_mode, config, tokenizer)

    return load_renderer_accelerated


def _accelerate_every_mode() -> bool:
    return os.environ.get(ACCELERATE_VARIABLE, "").strip().lower() not in ("", "0", "false", "no", "off")


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


# Tokenizers that were looked at and stay as vLLM made them.
_left_alone: weakref.WeakSet[Any] = weakref.WeakSet()


def _accelerated(tokenizer: Any, *, shared: bool) -> Any:
    """The tokenizer, accelerated if it can be; `shared`: others hold it, so that a copy has to be made."""
    if tokenizer is None or hasattr(tokenizer, "lopt") or tokenizer in _left_alone:
        return tokenizer
    reason = _why_not(tokenizer)
    if reason is None:
        try:
            accelerated = _accelerate(tokenizer, shared)
        except Exception as error:
            logger.exception("lopt_plugin: the tokenizer could not be accelerated")
            reason = f"{type(error).__name__}: {error}"
        else:
            explained = accelerated.lopt.explain()
            if explained["route"] != "hf":
                _say_what_is_active(tokenizer, f"takes the {explained['route']} route", explained)
                return _marked_thread_safe(accelerated)
            reason = explained["reason"]
    _left_alone.add(tokenizer)
    _say_what_is_active(tokenizer, f"stays as vLLM made it: {reason}", None)
    return tokenizer


def _why_not(tokenizer: Any) -> str | None:
    from transformers import PreTrainedTokenizerFast

    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        return f"{type(tokenizer).__name__} does not run on the tokenizers library"
    backend = type(tokenizer._tokenizer)
    if backend.__module__.partition(".")[0] == "fastokens":
        return "VLLM_USE_FASTOKENS has put fastokens in its place"
    return None


def _accelerate(tokenizer: Any, shared: bool) -> Any:
    from ..settings import Settings
    from ..tokenizer import accelerate, accelerate_in_place

    if shared:
        return accelerate(tokenizer)
    # A new object over the same Rust tokenizer, so that `tokenizer` itself can still be given out.
    accelerated: Any = object.__new__(type(tokenizer))
    accelerated.__dict__.update(tokenizer.__dict__)
    return accelerate_in_place(accelerated, Settings.read())


_said: set[str] = set()


def _say_what_is_active(tokenizer: Any, what: str, explained: dict[str, Any] | None) -> None:
    known = OLDEST_KNOWN_VERSION, NEWEST_KNOWN_VERSION
    message = active_line("vLLM", _vllm_version(), known, tokenizer, what, explained)
    if message not in _said:
        _said.add(message)
        logger.log(logging.INFO if explained is not None else logging.WARNING, "%s", message)


def _vllm_version() -> str:
    try:
        from vllm import __version__
    except ImportError:
        return "of unknown version"
    return str(__version__)


def _marked_thread_safe(tokenizer: Any) -> Any:
    """Spares vLLM its pool of deep copies.

    The pool is there because transformers sets truncation and padding in the Rust tokenizer before every call. Ours
    touches that state only under a lock, whatever the call, and the methods that do not encode only read.
    """
    accelerated: Any = type(tokenizer)
    try:
        tokenizer.__class__ = _thread_safe_class(accelerated)
    except Exception:
        logger.exception("lopt_plugin: vLLM will keep deep copies of the tokenizer")
    return tokenizer


@functools.cache
def _thread_safe_class(accelerated: type) -> type:
    from vllm.tokenizers.hf import ThreadSafeHFTokenizerMixin

    def reduce(self: Any) -> tuple[Any, ...]:
        unmarked: Any = object.__new__(accelerated)
        unmarked.__dict__.update(self.__dict__)
        return _marked_thread_safe, (unmarked,)

    namespace = {"__module__": __name__, "__doc__": accelerated.__doc__, "__reduce__": reduce}
    return type(accelerated.__name__, (accelerated, ThreadSafeHFTokenizerMixin), namespace)
