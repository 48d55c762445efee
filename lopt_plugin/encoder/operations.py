"""The kinds of calls that the runner answers: for each its route, the route's answer, and the reference's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from ..routes import Ids, Route
from ..routes.columns import native_columns
from ..routes.hf import HfRoute
from ..routes.native import NativeRoute
from ..routes.request import Columns, EncodeRequest, NeedsReference, Row
from .gpu_policy import LEAST_TEXT_CHARS, GpuUse
from .route_choice import Snapshot
from .token_batch import TokenBatch

Given = TypeVar("Given")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Operation(Generic[Given, Answer]):
    """One kind of call.

    route: the accelerated route for the given input, or None. May raise NeedsReference.
    encode: the answer of a route, accelerated or not. equal: whether two answers are the same.
    texts: the number of texts; None for one.
    """

    route: Callable[[Snapshot, GpuUse, Given, EncodeRequest], Any]
    encode: Callable[[Any, Given, EncodeRequest], Answer]
    equal: Callable[[Answer, Answer], bool]
    texts: Callable[[Given], int] | None = None


def _route_for_text(snapshot: Snapshot, gpu: GpuUse, text: str, request: EncodeRequest) -> Route | None:
    if len(text) >= LEAST_TEXT_CHARS and not request.offsets:
        on_gpu = gpu.route_for_text(snapshot, text, request)
        if on_gpu is not None:
            return on_gpu
    native = snapshot.native
    if request.token_type_ids and native is not None and not native.post_processing.type_ids_are_zero:
        raise NeedsReference("token type ids that are not all 0")
    return native or (None if request.offsets else snapshot.route_for(len(text)))


def _route_for_batch(snapshot: Snapshot, gpu: GpuUse, texts: list[str], request: EncodeRequest) -> Route | None:
    return gpu.route_for(snapshot, texts) or snapshot.route_for(max(map(len, texts), default=0))


def _route_for_columns(snapshot: Snapshot, gpu: GpuUse, rows: Sequence[Row], request: EncodeRequest) -> Route | None:
    native = snapshot.native
    if native is None:
        if not all(isinstance(row, str) for row in rows):
            return None
        return snapshot.route_for(min(map(len, rows), default=0))
    if (len(rows) == 1 and len(rows[0]) < LEAST_TEXT_CHARS) or not request.is_plain or request.offsets:
        return native
    if request.token_type_ids and not native.post_processing.type_ids_are_zero:
        return native
    texts = [row for row in rows if isinstance(row, str)]
    if len(texts) < len(rows):
        return native
    if request.max_length is not None and not request.keeps_end:
        room = native.post_processing.room(request)
        if any(native.is_over_long(text, room) for text in texts):
            return native
    return gpu.route_for(snapshot, texts) or native


def _list(route: Route, text: str, request: EncodeRequest) -> list[int]:
    return route.encode_list(text, request)


def _array(route: Route, text: str, request: EncodeRequest) -> Ids:
    return route.encode_array(text, request)


def _batch(route: Route, texts: list[str], request: EncodeRequest) -> TokenBatch:
    return TokenBatch(*route.encode_batch(texts, request))


def _batch_on_device(route: Any, texts: list[str], request: EncodeRequest) -> TokenBatch:
    encode = route.encode_batch if isinstance(route, HfRoute) else route.encode_on_device
    return TokenBatch(*encode(texts, request))


def _list_with_offsets(route: Any, text: str, request: EncodeRequest) -> tuple[list[int], list[tuple[int, int]]]:
    if isinstance(route, NativeRoute):
        return route.encode_with_offsets(text, request)
    columns = _columns(route, (text,), request)
    return columns.ids[0], columns.offsets[0]


def _columns(route: Any, rows: Sequence[Row], request: EncodeRequest) -> Columns:
    """The columns of each row; for a plain request, ids and offsets suffice."""
    if isinstance(route, NativeRoute):
        return native_columns(route, rows, request)
    columns: Columns = route.encode_columns(rows, request)
    return columns


def _equal_arrays(one: Any, other: Any) -> bool:
    return bool(np.array_equal(_on_host(one), _on_host(other)))


def _on_host(array: Any) -> Any:
    return array if isinstance(array, np.ndarray) else array.cpu().numpy()


def _equal_batches(one: TokenBatch, other: TokenBatch) -> bool:
    return _equal_arrays(one.ids, other.ids) and _equal_arrays(one.row_offsets, other.row_offsets)


def _equal_columns(ours: Columns, reference: Columns) -> bool:
    for name in ("ids", "type_ids", "special", "attention", "offsets"):
        column, expected = getattr(ours, name), getattr(reference, name)
        if column is None:
            continue
        if [np.asarray(row).tolist() for row in column] != [np.asarray(row).tolist() for row in expected]:
            return False
    return True


LIST: Operation[str, list[int]] = Operation(_route_for_text, _list, list.__eq__)
ARRAY: Operation[str, Ids] = Operation(_route_for_text, _array, _equal_arrays)
BATCH: Operation[list[str], TokenBatch] = Operation(_route_for_batch, _batch, _equal_batches)
LIST_WITH_OFFSETS: Operation[str, tuple[list[int], list[tuple[int, int]]]] = Operation(
    _route_for_text, _list_with_offsets, tuple.__eq__
)
COLUMNS: Operation[Sequence[Row], Columns] = Operation(_route_for_columns, _columns, _equal_columns, len)


def batch_on(device: str) -> Operation[list[str], TokenBatch]:
    """BATCH as tensors on a CUDA device."""

    def route(snapshot: Snapshot, gpu: GpuUse, texts: list[str], request: EncodeRequest) -> Route | None:
        return gpu.route_on(snapshot, device)

    return Operation(route, _batch_on_device, _equal_batches)
