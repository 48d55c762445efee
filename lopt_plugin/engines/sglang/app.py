"""SGLang's HTTP application for the workers of `--tokenizer-worker-num`. It loads the plugins first.

SGLang imports a worker's application from SGLANG_HTTP_SERVER_APP_PATH, and loads no plugins there. `plugin.py` sets
that variable for servers of its backend. Nothing else may import this module.
"""

from .plugin import tokenizer_backend

tokenizer_backend()

from sglang.srt.entrypoints.http_server import app  # noqa: E402

__all__ = ["app"]
