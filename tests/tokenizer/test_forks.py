"""No lock of the package that is held at a fork keeps the child from making accelerated tokenizers."""

from __future__ import annotations

import own_process

SCRIPT = """
import os, signal, sys, threading
import corpus
from transformers import PreTrainedTokenizerFast
import lopt_plugin
from lopt_plugin.engines import metrics, subclass
from lopt_plugin.tokenizer import accelerated


def tokenizer():
    return PreTrainedTokenizerFast(tokenizer_object=corpus.load_tokenizer("tiny_qwen2"))


def brand(base):
    return subclass.Brand("Branded", (), {})


class Other(PreTrainedTokenizerFast):
    pass


lock = type(threading.Lock())
owners = [vars(module) for name, module in sys.modules.items() if name.startswith("lopt_plugin")]
observer = metrics.observer()
owners += [] if observer is None else [vars(observer)]
held = [value for owner in owners for value in owner.values() if isinstance(value, lock)]
for one in held:
    one.acquire()
child = os.fork()
if child == 0:
    signal.alarm(60)
    found = subclass.rebrand(lopt_plugin.accelerate(Other(tokenizer_object=corpus.load_tokenizer("tiny_qwen2"))), brand)
    if observer is not None:
        observer.fell_back("a reason")
    os._exit(0 if found("A text.")["input_ids"] == tokenizer()("A text.")["input_ids"] else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_fork_while_every_lock_is_held() -> None:
    assert own_process.run(SCRIPT).split() == ["0"]
