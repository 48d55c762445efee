"""SGLang's HTTP application for the workers of `--tokenizer-worker-num`, with the plugins loaded before it.

SGLang imports the application of a worker from SGLANG_HTTP_SERVER_APP_PATH, and does not load plugins there.
`lopt_plugin.engines.sglang` sets that variable for servers of its backend. Nothing else may import this module.
"""

from .sglang import tokenizer_backend

tokenizer_backend()

from sglang.srt.entrypoints.http_server import app  # noqa: E402

__all__ = ["app"]
