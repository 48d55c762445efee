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

import functools
import logging
import os
import pkgutil
from collections.abc import Callable
from typing import Any

from ..observer import Observer
from . import prometheus
from .acceleration import Accelerated, ActiveLines, accelerated_or_reason
from .active_line import show_our_log

BACKEND = "lopt"
LOADED_AS = "huggingface"
APP_VARIABLE = "SGLANG_HTTP_SERVER_APP_PATH"
APP = "lopt_plugin.engines.sglang_app:app"

GET_TOKENIZER = "sglang.srt.utils.hf_transformers.tokenizer:get_tokenizer"
GET_PROCESSOR = "sglang.srt.utils.hf_transformers.processor:get_processor"
CHECK_SERVER_ARGS = "sglang.srt.server_args:ServerArgs.check_server_args"
# The module that tokenizes prompts, with names of its own for the first two.
TOKENIZER_MANAGER = "sglang.srt.managers.tokenizer_manager"

TRIED_VERSIONS = ("0.5.23",)

# Below "sglang", so that SGLang's own handlers and levels apply.
logger = logging.getLogger("sglang.lopt_plugin")


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
                _sglang_version(),
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
    return _accelerated(get_tokenizer(*args, **kwargs | {"tokenizer_backend": LOADED_AS}))


def _get_processor_with_accelerated(get_processor: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    if kwargs.get("tokenizer_backend") != BACKEND:
        return get_processor(*args, **kwargs)
    if args and args[0] is _PROBE:
        return _PROBE
    processor = get_processor(*args, **kwargs | {"tokenizer_backend": LOADED_AS})
    # What SGLang takes for the tokenizer of a processor. It stays the same object, so whoever else holds it agrees.
    _accelerated(getattr(processor, "tokenizer", processor))
    return processor


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
    from uvicorn.config import LOGGING_CONFIG

    if os.environ.setdefault(APP_VARIABLE, APP) != APP:
        logger.warning(
            "lopt_plugin: %s is %s; the tokenizer workers use lopt only if SGLang or that module calls "
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
        f"lopt_plugin: tokenizer_backend {BACKEND!r} is not active with SGLang {_sglang_version()} ({reason}); no hook "
        f"answers at {', '.join(unhooked)}"
    )


def _answers(target: str) -> bool:
    try:
        return pkgutil.resolve_name(target)(_PROBE, tokenizer_backend=BACKEND) is _PROBE
    except Exception:
        return False


def _accelerated(tokenizer: Any) -> Any:
    """The very object, accelerated if it can be."""
    if tokenizer is None or hasattr(tokenizer, "lopt"):
        return tokenizer
    its_class, attributes = type(tokenizer), dict(getattr(tokenizer, "__dict__", {}))
    outcome = accelerated_or_reason(tokenizer, _accelerate, logger)
    # SGLang's log does not tell its processes apart.
    process = f"in process {os.getpid()}"
    if isinstance(outcome, Accelerated):
        explained = outcome.explained
        tokenizer.lopt.observer = _observer()
        _lines.say(tokenizer, f"{process} takes the {explained['route']} route", explained)
        return tokenizer
    if type(tokenizer) is not its_class:
        _undo(tokenizer, its_class, attributes)
    _lines.say(tokenizer, f"{process} stays as SGLang made it: {outcome}", None)
    observer = _observer()
    if observer is not None:
        # Once, when it is loaded: its calls do not come by here.
        observer.fell_back(outcome)
    return tokenizer


def _accelerate(tokenizer: Any) -> Any:
    from ..settings import Settings
    from ..tokenizer import accelerate_in_place

    return _under_its_own_name(accelerate_in_place(tokenizer, Settings.read()))


def _observer() -> Observer | None:
    # Set by `--enable-metrics`: /metrics adds up what all processes write there. Without it nobody would read them, and
    # prometheus_client must not be imported before SGLang has set it.
    return prometheus.observer() if os.environ.get("PROMETHEUS_MULTIPROC_DIR") else None


def _undo(tokenizer: Any, its_class: type, attributes: dict[str, Any]) -> None:
    tokenizer.__class__ = its_class
    tokenizer.__dict__.clear()
    tokenizer.__dict__.update(attributes)


def _under_its_own_name(tokenizer: Any) -> Any:
    """The very object, whose class has the name that it had before: SGLang and its models tell tokenizers by it."""
    accelerated: Any = type(tokenizer)
    tokenizer.__class__ = _class_under_its_own_name(accelerated)
    return tokenizer


@functools.cache
def _class_under_its_own_name(accelerated: Any) -> type:
    original = accelerated._lopt_original_class

    def reduce(self: Any) -> tuple[Any, ...]:
        plain: Any = object.__new__(accelerated)
        plain.__dict__.update(self.__dict__)
        return _under_its_own_name, (plain,)

    namespace = {
        "__module__": original.__module__,
        "__qualname__": original.__qualname__,
        "__doc__": original.__doc__,
        "__reduce__": reduce,
    }
    return type(original.__name__, (accelerated,), namespace)


def _sglang_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("sglang")
    except PackageNotFoundError:
        return "of unknown version"


_lines = ActiveLines("SGLang", _sglang_version, TRIED_VERSIONS, logger)
