"""vLLM: `--tokenizer-mode lopt`, and LOPT_ACCELERATE=1 for the tokenizer of any other mode.

vLLM calls `register` (entry-point group vllm.general_plugins) in the API server, the engine core and every worker.
`ledger.py` lists every vLLM name that the plugin uses, and what happens if it is missing.

The mode `lopt` is whatever vLLM's own `auto` chooses for the model, accelerated if that is a Hugging Face fast
tokenizer. vLLM has special cases for its `hf` mode and some architectures (Mistral files, wrong tokenizer classes on
the hub, models with their own prompt format), and they change from release to release. So vLLM itself decides:
  - vLLM's get_tokenizer loads the tokenizer under `auto`;
  - ModelConfig sees `auto` while it looks for a mode that belongs to the architecture;
  - the renderer is the one that `auto` has for that tokenizer.

An error here is logged, and vLLM continues with the tokenizer that it would otherwise have used.
"""

from __future__ import annotations

import copy
import functools
import os
import pkgutil
import sys
from collections.abc import Callable
from typing import Any

from .. import metrics
from ..acceleration import observe
from ..ledger import TouchedName
from . import ledger
from .detokenizer import begins_with_prompt, decode_natively
from .tokenizer import LoptTokenizer, accelerated, acceleration, freeze_calls, logger, why_left_alone

MODE = "lopt"
ACCELERATE_VARIABLE = "LOPT_ACCELERATE"
# An attribute of a ModelConfig whose mode `lopt` had to yield to one of vLLM's.
ACCELERATE_MARK = "_lopt_accelerate"
RENDERER_VARIABLE = "LOPT_RENDERER"
# The renderer mode of LoptRenderer. It is not for users.
RENDERER_MODE = "lopt_renderer"


def register() -> None:
    """Registers the mode in this process. Can be called any number of times; never raises."""
    steps = {
        "register_mode": _register_mode,
        "hook_model_config": lambda: _hook(ledger.MODEL_CONFIG, _let_auto_choose),
        "hook_renderers": lambda: _hook(ledger.LOAD_RENDERER, _give_accelerated_tokenizer),
    }
    acceleration.register(steps, "vLLM continues without it", all_needed=False)


def _register_mode() -> None:
    tokenizers, renderers = ledger.TOKENIZER_REGISTRY.resolve(), ledger.RENDERER_REGISTRY.resolve()
    if MODE not in tokenizers.tokenizers:
        tokenizers.register(MODE, LoptTokenizer.__module__, LoptTokenizer.__name__)
    for mode, place in ((MODE, ledger.HF_RENDERER.name), (RENDERER_MODE, f"{__package__}.renderer:LoptRenderer")):
        if mode not in renderers.renderers:
            renderers.register(mode, *place.split(":"))


def _hook(touched: TouchedName, wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    method = touched.resolve_as_known()
    if not hasattr(method, "_lopt_wrapped"):
        wrapped = functools.wraps(method)(wrapper(method))
        wrapped._lopt_wrapped = method  # type: ignore[attr-defined]
        owner, _, name = touched.name.rpartition(".")
        setattr(pkgutil.resolve_name(owner), name, wrapped)


def _let_auto_choose(post_init: Callable[..., None]) -> Callable[..., None]:
    def post_init_under_auto(self: Any, *args: Any, **kwargs: Any) -> None:
        if self.tokenizer_mode != MODE:
            return post_init(self, *args, **kwargs)
        self.tokenizer_mode = "auto"
        post_init(self, *args, **kwargs)
        if self.tokenizer_mode == "auto":
            self.tokenizer_mode = MODE
        else:
            # Of this model only; copies and pickles have it too.
            object.__setattr__(self, ACCELERATE_MARK, True)
            logger.warning(
                "lopt_plugin: vLLM has its own tokenizer mode for %s and uses %r instead of %r; the tokenizer "
                "inside that mode is accelerated if it can be",
                ", ".join(getattr(self, "architectures", None) or ["this model"]),
                self.tokenizer_mode,
                MODE,
            )
        if os.environ.get("VLLM_USE_RUST_FRONTEND", "0") not in ("", "0"):
            logger.warning(
                "lopt_plugin: VLLM_USE_RUST_FRONTEND is set; its server is a separate binary, which tokenizes by "
                "itself. Unset it to use lopt"
            )
        return None

    return post_init_under_auto


def _give_accelerated_tokenizer(load_renderer: Callable[..., Any]) -> Callable[..., Any]:
    # A renderer tokenizes every prompt with the tokenizer that it is given here, in every mode.
    def load_renderer_accelerated(self: Any, renderer_mode: str, config: Any, tokenizer: Any) -> Any:
        load = functools.partial(load_renderer, self)
        try:
            mode, given = _prepared(renderer_mode, config, tokenizer)
            renderer = _our_renderer(load, config, given) if mode in (MODE, "hf") else None
        except Exception:
            logger.exception("lopt_plugin: could not accelerate the tokenizer; vLLM continues with it as it is")
            return load(renderer_mode, config, tokenizer)
        if renderer is None:
            renderer = load(mode, config, given)
        acceleration.compare_with_ledger()
        _decode_natively(renderer.tokenizer)
        try:
            if getattr(renderer, "mm_processor", None) is not None and hasattr(renderer.tokenizer, "lopt"):
                freeze_calls(renderer.tokenizer)
        except Exception:
            logger.exception("lopt_plugin: could not accelerate a model with a processor; vLLM continues without lopt")
            return load(mode, config, given._lopt_original())
        return renderer

    return load_renderer_accelerated


def _decode_natively(tokenizer: Any) -> None:
    """Makes streams decode natively if the decoder is supported. Its table is built now, not during a request."""
    encoder = getattr(tokenizer, "__dict__", {}).get("_lopt_encoder")  # its own, not what a proxy answers
    if encoder is None or not encoder._decoding.current().streams:
        return
    try:
        if begins_with_prompt():
            _hook(ledger.DETOKENIZER, decode_natively)
    except (ImportError, AttributeError, TypeError) as error:  # it is not as the ledger says
        logger.warning("lopt_plugin: Hugging Face decodes the streams: %s", error)


def _prepared(renderer_mode: str, config: Any, tokenizer: Any) -> tuple[str, Any]:
    """The mode of the renderer and its tokenizer, accelerated if that is asked for."""
    is_marked = getattr(getattr(config, "model_config", None), ACCELERATE_MARK, False)
    if renderer_mode == MODE or is_marked or _is_on(ACCELERATE_VARIABLE, ""):
        # vLLM keeps one tokenizer per model, and loads some models' without the class of their mode.
        tokenizer = accelerated(tokenizer, shared=True)
    if renderer_mode == MODE:
        renderer_mode = _renderer_mode_under_auto(config.model_config)
    reason = why_left_alone(tokenizer)
    if hasattr(tokenizer, "lopt"):
        observe(tokenizer, metrics.observer())
    elif reason is not None and (observer := metrics.observer()) is not None:
        # Once, when it is loaded: its calls cannot be counted. Without a reason, no metrics are created.
        observer.fell_back(reason)
    return renderer_mode, tokenizer


def _our_renderer(load: Callable[..., Any], config: Any, tokenizer: Any) -> Any:
    """LoptRenderer; None if it is switched off, or, with a warning, if this vLLM needs its own renderer."""
    if not hasattr(tokenizer, "lopt") or not _is_on(RENDERER_VARIABLE, "1"):
        return None
    try:
        from .renderer import prefetch_prompts

        for touched in ledger.RENDERER_METHODS:
            touched.resolve_as_known()
        if "vllm.entrypoints.llm" in sys.modules:
            _hook(ledger.ADD_COMPLETION_REQUESTS, prefetch_prompts)
        renderer = load(RENDERER_MODE, config, tokenizer)
        if renderer.tokenizes_as_vllm():
            return renderer
        renderer.shutdown()
        reason = "the two tokenize a prompt differently"
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
    logger.warning("lopt_plugin: using vLLM's own renderer, which tokenizes one prompt at a time: %s", reason)
    return None


def _is_on(variable: str, default: str) -> bool:
    return os.environ.get(variable, default).strip().lower() not in ("", "0", "false", "no", "off")


def _renderer_mode_under_auto(model_config: Any) -> str:
    try:
        under_auto = copy.copy(model_config)
        under_auto.tokenizer_mode = "auto"
        mode, *_ = ledger.TOKENIZER_ARGS_FROM_CONFIG.resolve()(under_auto)
    except Exception:
        logger.exception("lopt_plugin: could not find which renderer vLLM would choose; using the Hugging Face one")
        return MODE
    return MODE if mode == "hf" else str(mode)
