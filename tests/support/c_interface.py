"""The C interface through ctypes: of the extension module, which holds it too, or of liblopt.so."""

from __future__ import annotations

import ctypes
import functools
import os
from pathlib import Path

(OK, INVALID_ARGUMENT, CANNOT_READ, INVALID_FILE, INVALID_UTF8, NEEDS_REFERENCE, BUFFER_TOO_SMALL) = range(7)
ADD_SPECIAL_TOKENS, SPLIT_SPECIAL_TOKENS = 1, 2


class _Error(ctypes.Structure):
    _fields_ = (("message", ctypes.c_char * 256),)


@functools.cache
def library() -> ctypes.CDLL:
    """LOPT_C_LIBRARY, or the extension module."""
    from lopt_plugin.native import _core

    loaded = ctypes.CDLL(os.environ.get("LOPT_C_LIBRARY") or _core.__file__)
    pointer, size, flags = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32
    text, count, error = (ctypes.c_char_p, size), ctypes.POINTER(size), ctypes.POINTER(_Error)
    loaded.lopt_open.argtypes = ctypes.c_char_p, ctypes.POINTER(pointer), error
    loaded.lopt_encode.argtypes = pointer, *text, flags, pointer, size, count, error
    loaded.lopt_count.argtypes = pointer, *text, flags, count, error
    loaded.lopt_close.argtypes = (pointer,)
    loaded.lopt_source.argtypes = (pointer,)
    loaded.lopt_close.restype = None
    loaded.lopt_version.restype = loaded.lopt_source.restype = ctypes.c_char_p
    return loaded


class CTokenizer:
    """A handle. `status` and `message` are those of opening the file."""

    def __init__(self, path: Path | None) -> None:
        self.library = library()
        self.handle = ctypes.c_void_p()
        error = _Error()
        name = None if path is None else os.fsencode(path)
        self.status = self.library.lopt_open(name, ctypes.byref(self.handle), ctypes.byref(error))
        self.message = error.message.decode()

    def __enter__(self) -> CTokenizer:
        return self

    def __exit__(self, *error: object) -> None:
        self.library.lopt_close(self.handle)

    def encode(self, text: str | bytes | None, flags: int = 0, capacity: int = 1 << 16) -> tuple[int, list[int] | str]:
        """The status, and the ids or the message."""
        data = text.encode() if isinstance(text, str) else text
        ids, count, error = (ctypes.c_uint32 * capacity)(), ctypes.c_size_t(), _Error()
        status = self.library.lopt_encode(
            self.handle, data, len(data or b""), flags, ids, capacity, ctypes.byref(count), ctypes.byref(error)
        )
        return status, list(ids[: count.value]) if status == OK else error.message.decode()

    def count(self, text: str | bytes, flags: int = 0) -> tuple[int, int]:
        """The status and the number of ids."""
        data = text.encode() if isinstance(text, str) else text
        count = ctypes.c_size_t(1)
        status = self.library.lopt_count(self.handle, data, len(data), flags, ctypes.byref(count), None)
        return status, count.value
