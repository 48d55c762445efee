"""SGLang: `--tokenizer-backend lopt`.

SGLang calls `register` (entry-point group sglang.srt.plugins) in every process that it starts, except the workers of
`--tokenizer-worker-num`, which load `app.py`. `ledger.py` lists every SGLang name that the plugin uses, and what
happens if it is missing. SGLang itself loads the tokenizer, as for the backend `huggingface` and with all of its fixes;
then the plugin accelerates it if it is a Hugging Face fast tokenizer.

SGLang validates the backend's name only on its command line, and merely logs a plugin's errors, so the Hugging Face
tokenizer could run unnoticed. Therefore a server or an Engine with this backend does not start unless the hooks work
(`_refuse_to_start_without_hooks`, which does not need them). A program that makes an Engine gets the name from
`tokenizer_backend`, which raises if the backend does not work.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from typing import Any

from ..ledger import TouchedName
from . import ledger
from .prefetch import handle_batch_with_prefetch
from .request_ids import create_tokenized_with_array, requests_have_arrays, tokenize_texts_to_arrays
from .tokenizer import accelerated, acceleration

logger = acceleration.logger

BACKEND = "lopt"
LOADED_AS = "huggingface"
APP_VARIABLE = "SGLANG_HTTP_SERVER_APP_PATH"
APP = "lopt_plugin.engines.sglang.app:app"


def register() -> None:
    """Registers the backend in this process. Can be called any number of times; never raises."""
    hooks = {ledger.GET_TOKENIZER: _get_accelerated, ledger.GET_PROCESSOR: _get_processor_with_accelerated}
    steps = {
        # The check comes first: it remains if the other steps fail, and reports that.
        "register_check": lambda: _hook({ledger.CHECK_SERVER_ARGS: _refuse_to_start_without_hooks}),
        "register_hooks": lambda: _hook(hooks),
        "add_choice": _add_choice,
    }
    acceleration.register(steps, f"--tokenizer-backend {BACKEND} is not available", all_needed=True)


def tokenizer_backend() -> str:
    """Load SGLang's plugins into this process, and return the name of the backend.

    Returns:
        "lopt", for `sglang.Engine(tokenizer_backend=...)`.

    Raises:
        RuntimeError: The plugin is not active in this process. With the bare name, SGLang would silently use Hugging
            Face.

    Example:
        import sglang
        from lopt_plugin.engines.sglang import tokenizer_backend

        engine = sglang.Engine(model_path="Qwen/Qwen3-8B", tokenizer_backend=tokenizer_backend())
    """
    ledger.LOAD_PLUGINS.resolve()()
    _raise_if_inactive()
    return BACKEND


_hooked: set[TouchedName] = set()


def _hook(hooks: dict[TouchedName, Callable[..., Any]]) -> None:
    registry, around = ledger.HOOK_REGISTRY.resolve(), ledger.HOOK_TYPE.resolve().AROUND
    for touched in hooks:
        # SGLang resolves the names later, and only logs those that it does not find.
        touched.resolve()
    for touched, hook in hooks.items():
        if touched not in _hooked:
            registry.register(touched.name.replace(":", "."), hook, around)
            _hooked.add(touched)


def _add_choice() -> None:
    from typing import get_type_hints

    hint = get_type_hints(ledger.SERVER_ARGS.resolve(), include_extras=True)["tokenizer_backend"]
    choices = next(argument.choices for argument in hint.__metadata__ if getattr(argument, "choices", None))
    if BACKEND not in choices:
        choices.append(BACKEND)


# Passed instead of the name of a model; a hook that is in place returns it.
_PROBE = object()


def _get_accelerated(get_tokenizer: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return _loaded(get_tokenizer, accelerated, args, kwargs)


def _get_processor_with_accelerated(get_processor: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    def accelerate_its_tokenizer(processor: Any) -> Any:
        # The tokenizer remains the same object, because others may hold it. A text model's processor is its tokenizer.
        accelerated(getattr(processor, "tokenizer", processor))
        return processor

    return _loaded(get_processor, accelerate_its_tokenizer, args, kwargs)


def _loaded(load: Callable[..., Any], accelerate: Callable[[Any], Any], args: Any, kwargs: Any) -> Any:
    if kwargs.get("tokenizer_backend") != BACKEND:
        return load(*args, **kwargs)
    if args and args[0] is _PROBE:
        return _PROBE
    _hook_requests()
    loaded = accelerate(load(*args, **kwargs | {"tokenizer_backend": LOADED_AS}))
    acceleration.compare_with_ledger()
    return loaded


def _hook_requests() -> None:
    # When a tokenizer is loaded: not every process that loads plugins has a TokenizerManager, which is slow to import.
    try:
        if ledger.CREATE_TOKENIZED not in _hooked and requests_have_arrays():
            create, tokenize = ledger.CREATE_TOKENIZED, ledger.TOKENIZE_TEXTS
            for touched in (create, tokenize):
                touched.resolve_as_known()
            _hook({create: create_tokenized_with_array, tokenize: tokenize_texts_to_arrays})
            try:
                if not inspect.isasyncgenfunction(ledger.HANDLE_BATCH.resolve_as_known()):
                    raise TypeError(f"{ledger.HANDLE_BATCH.name} is not an asynchronous generator")
                _hook({ledger.HANDLE_BATCH: handle_batch_with_prefetch})
            except Exception as error:
                logger.warning("lopt_plugin: tokenizing the prompts of a list one by one: %s", error)
            ledger.HOOK_REGISTRY.resolve().apply_hooks()
    except Exception:
        logger.warning("lopt_plugin: sending ids to the scheduler as lists, as SGLang does", exc_info=True)


def _refuse_to_start_without_hooks(check: Callable[..., None], server_args: Any, *args: Any, **kwargs: Any) -> None:
    check(server_args, *args, **kwargs)
    if server_args.tokenizer_backend != BACKEND:
        return
    _raise_if_inactive()
    if os.environ.get("SGLANG_RUST_SERVER", "0").lower() not in ("", "0", "false"):
        logger.warning(
            "lopt_plugin: SGLANG_RUST_SERVER is set; its server tokenizes in Rust by itself. Unset it to use lopt"
        )
    if server_args.tokenizer_worker_num > 1:
        _reach_tokenizer_workers(server_args.log_level)


def _reach_tokenizer_workers(log_level: str) -> None:
    from uvicorn.config import LOGGING_CONFIG

    # An Engine without a server has not imported it. Who joins such an Engine calls `tokenizer_backend` first.
    server = sys.modules.get(ledger.HTTP_SERVER.name)
    loads_plugins = hasattr(server, "load_plugins")
    if server is not None and not loads_plugins and not hasattr(ledger.ENVIRONMENT.resolve(), APP_VARIABLE):
        raise RuntimeError(
            f"lopt_plugin: the tokenizer workers of SGLang {acceleration.engine_version()} load no plugins, and would "
            f"run Hugging Face. Use one worker, SGLang 0.5.23 or later (which has {APP_VARIABLE}), or patches/sglang"
        )
    if os.environ.setdefault(APP_VARIABLE, APP) != APP and not loads_plugins:
        logger.warning(
            "lopt_plugin: %s is set to %s; the tokenizer workers use lopt only if that module calls "
            "sglang.srt.plugins.load_plugins()",
            APP_VARIABLE,
            os.environ[APP_VARIABLE],
        )
    # The workers log through uvicorn, not through SGLang, which adds its own loggers here too.
    LOGGING_CONFIG["loggers"][logger.name] = {"handlers": ["default"], "level": log_level.upper(), "propagate": False}


def _raise_if_inactive() -> None:
    names = (ledger.GET_TOKENIZER, ledger.GET_PROCESSOR, ledger.MANAGER_GET_TOKENIZER, ledger.MANAGER_GET_PROCESSOR)
    unhooked = [touched.name for touched in names if not _is_hooked(touched)]
    if not unhooked:
        return
    allowed = os.environ.get("SGLANG_PLUGINS")
    reason = "the log above has the error"
    if allowed and BACKEND not in (name.strip() for name in allowed.split(",")):
        reason = f"SGLANG_PLUGINS={allowed} leaves out {BACKEND!r}; add it"
    raise RuntimeError(
        f"lopt_plugin: tokenizer_backend {BACKEND!r} is not active with SGLang {acceleration.engine_version()}: "
        f"{reason}. Not hooked: {', '.join(unhooked)}"
    )


def _is_hooked(touched: TouchedName) -> bool:
    try:
        return touched.resolve()(_PROBE, tokenizer_backend=BACKEND) is _PROBE
    except Exception:
        return False
