"""SGLang: `--tokenizer-backend lopt`.

SGLang calls `register` (entry-point group sglang.srt.plugins) in every process that it starts, but for the workers of
`--tokenizer-worker-num`: those come through `sglang_app`. A tokenizer is loaded by SGLang itself, as for the backend
`huggingface` and with all of its repairs, and accelerated where it is a Hugging Face fast tokenizer.

SGLang does not check the name of the backend except on its command line, and only logs what goes wrong in a plugin: the
Hugging Face tokenizer would run, and nothing would say so. So a server or an Engine does not start with this backend
unless the hooks answer (`_refuse_to_start_without_hooks`, which does not need them), and a program that makes an Engine
may ask for the name of the backend where it is given only if it works (`tokenizer_backend`).
"""

from __future__ import annotations

import os
import pkgutil
import sys
from collections.abc import Callable
from typing import Any

from .active_line import show_our_log
from .sglang_batches import HANDLE_BATCH, can_handle_batches, handle_batch_ahead
from .sglang_ids import (
    CREATE_TOKENIZED,
    TOKENIZE_TEXTS,
    create_tokenized_with_array,
    makes_arrays,
    tokenize_texts_to_arrays,
)
from .sglang_tokenizers import accelerated, logger, sglang_version

BACKEND = "lopt"
LOADED_AS = "huggingface"
APP_VARIABLE = "SGLANG_HTTP_SERVER_APP_PATH"
APP = "lopt_plugin.engines.sglang_app:app"

GET_TOKENIZER = "sglang.srt.utils.hf_transformers.tokenizer:get_tokenizer"
GET_PROCESSOR = "sglang.srt.utils.hf_transformers.processor:get_processor"
CHECK_SERVER_ARGS = "sglang.srt.server_args:ServerArgs.check_server_args"
HTTP_SERVER = "sglang.srt.entrypoints.http_server"
# The module that tokenizes prompts, with names of its own for the first two.
TOKENIZER_MANAGER = "sglang.srt.managers.tokenizer_manager"


def register() -> None:
    """Makes the backend known to this process. May be called any number of times; never raises."""
    # The check first: it stays when the others fail, and says that they are missing.
    for step in (_register_check, _register_hooks, _add_choice, _show_our_log):
        try:
            step()
        except Exception:
            logger.exception(
                "lopt_plugin: %s failed with SGLang %s; --tokenizer-backend %s is not available",
                step.__name__.strip("_"),
                sglang_version(),
                BACKEND,
            )
            return


def tokenizer_backend() -> str:
    """"lopt", for `Engine(tokenizer_backend=...)`, after loading SGLang's plugins into this process.

    Raises RuntimeError where the plugin is not active in it, whereas the name alone would run Hugging Face in silence.
    """
    from sglang.srt.plugins import load_plugins

    load_plugins()
    _raise_if_inactive()
    return BACKEND


_registered: set[str] = set()


def _register_check() -> None:
    _register_around({CHECK_SERVER_ARGS: _refuse_to_start_without_hooks})


def _register_hooks() -> None:
    _register_around({GET_TOKENIZER: _get_accelerated, GET_PROCESSOR: _get_processor_with_accelerated})


def _register_around(hooks: dict[str, Callable[..., Any]]) -> None:
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    for target in hooks:
        # SGLang looks the targets up after this, and only logs what it does not find.
        pkgutil.resolve_name(target)
    for target, hook in hooks.items():
        if target not in _registered:
            HookRegistry.register(target.replace(":", "."), hook, HookType.AROUND)
            _registered.add(target)


def _add_choice() -> None:
    from typing import get_type_hints

    from sglang.srt.server_args import ServerArgs

    hint = get_type_hints(ServerArgs, include_extras=True)["tokenizer_backend"]
    choices = next(argument.choices for argument in hint.__metadata__ if getattr(argument, "choices", None))
    if BACKEND not in choices:
        choices.append(BACKEND)


def _show_our_log() -> None:
    show_our_log("sglang")


class _Probe:
    """Stands for the name of a model; a hook that is in place gives it back."""


_PROBE = _Probe()


def _get_accelerated(get_tokenizer: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    if kwargs.get("tokenizer_backend") != BACKEND:
        return get_tokenizer(*args, **kwargs)
    if args and args[0] is _PROBE:
        return _PROBE
    _shorten_way_to_scheduler()
    return accelerated(get_tokenizer(*args, **kwargs | {"tokenizer_backend": LOADED_AS}))


def _get_processor_with_accelerated(get_processor: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    if kwargs.get("tokenizer_backend") != BACKEND:
        return get_processor(*args, **kwargs)
    if args and args[0] is _PROBE:
        return _PROBE
    _shorten_way_to_scheduler()
    processor = get_processor(*args, **kwargs | {"tokenizer_backend": LOADED_AS})
    # What SGLang takes for the tokenizer of a processor. It stays the same object, so whoever else holds it agrees.
    accelerated(getattr(processor, "tokenizer", processor))
    return processor


def _shorten_way_to_scheduler() -> None:
    # When a tokenizer is loaded: not every process that loads plugins has a TokenizerManager, which is slow to import.
    try:
        if CREATE_TOKENIZED not in _registered and makes_arrays():
            from sglang.srt.plugins.hook_registry import HookRegistry

            _register_around({TOKENIZE_TEXTS: tokenize_texts_to_arrays, CREATE_TOKENIZED: create_tokenized_with_array})
            _tokenize_lists_ahead()
            HookRegistry.apply_hooks()
    except Exception:
        logger.warning("lopt_plugin: ids go to the scheduler in SGLang's own way", exc_info=True)


def _tokenize_lists_ahead() -> None:
    try:
        if not can_handle_batches(pkgutil.resolve_name(HANDLE_BATCH)):
            raise TypeError("_handle_batch_request is another one")
        _register_around({HANDLE_BATCH: handle_batch_ahead})
    except Exception as error:
        logger.warning("lopt_plugin: the prompts of a list are tokenized when SGLang asks for each: %s", error)


def _refuse_to_start_without_hooks(check: Callable[..., None], server_args: Any, *args: Any, **kwargs: Any) -> None:
    check(server_args, *args, **kwargs)
    if server_args.tokenizer_backend != BACKEND:
        return
    _raise_if_inactive()
    if os.environ.get("SGLANG_RUST_SERVER", "0").lower() not in ("", "0", "false"):
        logger.warning("lopt_plugin: SGLANG_RUST_SERVER tokenizes in Rust, which no tokenizer backend reaches")
    if server_args.tokenizer_worker_num > 1:
        _reach_tokenizer_workers(server_args.log_level)


def _reach_tokenizer_workers(log_level: str) -> None:
    from sglang.srt.environ import envs
    from uvicorn.config import LOGGING_CONFIG

    # Not there for an Engine without a server: whoever joins that one asks for `tokenizer_backend` first.
    server = sys.modules.get(HTTP_SERVER)
    loads_plugins = hasattr(server, "load_plugins")
    if server is not None and not loads_plugins and not hasattr(envs, APP_VARIABLE):
        raise RuntimeError(
            f"lopt_plugin: the tokenizer workers of SGLang {sglang_version()} load no plugins, and Hugging Face would "
            f"run in them: use one worker, a SGLang that knows {APP_VARIABLE} (0.5.23), or patches/sglang"
        )
    if os.environ.setdefault(APP_VARIABLE, APP) != APP and not loads_plugins:
        logger.warning(
            "lopt_plugin: %s is %s; the tokenizer workers use lopt only if that module calls "
            "sglang.srt.plugins.load_plugins() in them",
            APP_VARIABLE,
            os.environ[APP_VARIABLE],
        )
    # The workers have uvicorn's logging, not SGLang's, which adds its own loggers here too.
    LOGGING_CONFIG["loggers"][logger.name] = {"handlers": ["default"], "level": log_level.upper(), "propagate": False}


def _raise_if_inactive() -> None:
    tokenizes_with = [f"{TOKENIZER_MANAGER}:{target.rpartition(':')[2]}" for target in (GET_TOKENIZER, GET_PROCESSOR)]
    unhooked = [target for target in (GET_TOKENIZER, GET_PROCESSOR, *tokenizes_with) if not _answers(target)]
    if not unhooked:
        return
    allowed = os.environ.get("SGLANG_PLUGINS")
    if allowed and BACKEND not in (name.strip() for name in allowed.split(",")):
        reason = f"SGLANG_PLUGINS={allowed} leaves {BACKEND!r} out"
    else:
        reason = "see the log above"
    raise RuntimeError(
        f"lopt_plugin: tokenizer_backend {BACKEND!r} is not active with SGLang {sglang_version()} ({reason}); no hook "
        f"answers at {', '.join(unhooked)}"
    )


def _answers(target: str) -> bool:
    try:
        return pkgutil.resolve_name(target)(_PROBE, tokenizer_backend=BACKEND) is _PROBE
    except Exception:
        return False
