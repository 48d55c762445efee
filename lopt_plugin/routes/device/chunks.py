"""Which texts of a batch go to the device, in chunks that fit there; and how these are computed one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ...pipeline import Pipeline
from ...pipeline.normalizer_steps import MapCharacters
from ...triton_kernels.limits import SEPARATOR_SHARE
from .. import CannotEncodeError
from .packing import Around
from .rows import Part

if TYPE_CHECKING:
    from .batch import DeviceBatch, Sent


class Chunker:
    """Numbers of the texts for the device, in lists of about `chunk_bytes` of text; a text is never cut.

    Others are the host's: texts above `longest_bytes`, and those that the normalizer may change. core: the native one.
    """

    def __init__(self, pipeline: Pipeline, core: Any, chunk_bytes: int, longest_bytes: int) -> None:
        self.chunk_bytes = chunk_bytes
        self.longest_bytes = longest_bytes
        self._core = core
        self._normalizes = bool(pipeline.normalizer)
        steps = pipeline.normalizer if isinstance(pipeline.normalizer, tuple) else ()
        self._ascii_stays = not any(isinstance(step, MapCharacters) for step in steps)

    def chunks(self, texts: Sequence[str], around: Around, host: list[int]) -> Iterator[list[int]]:
        """The numbers for the device; those for the host are put into `host`."""
        chunk: list[int] = []
        room = self.chunk_bytes
        separators = around.separators
        for number, text in enumerate(texts):
            most_bytes = len(text) if text.isascii() else 4 * len(text)
            if most_bytes + separators > self.longest_bytes or not self._stays(text):
                host.append(number)
                continue
            # A separator takes a byte of the text, and as much room as this many in other buffers.
            most_bytes += SEPARATOR_SHARE * separators
            if most_bytes > room and chunk:
                yield chunk
                chunk, room = [], self.chunk_bytes
            chunk.append(number)
            room -= most_bytes
        if chunk:
            yield chunk

    def _stays(self, text: str) -> bool:
        if not self._normalizes or (self._ascii_stays and text.isascii()):
            return True
        try:
            return bool(self._core.normalize(text) == text)
        except ValueError as error:
            raise CannotEncodeError(str(error)) from error


class ChunkLoop:
    """Computes chunks on a device: one is packed and copied while the one before is computed.

    usable: whether the device still does the work. failed: called with what went wrong there, once a failure.
    """

    def __init__(
        self, batch: DeviceBatch, on_host: bool, usable: Callable[[], bool], failed: Callable[[Exception], None]
    ) -> None:
        self.parts: list[Part] = []
        self._batch = batch
        self._on_host = on_host
        self._usable = usable
        self._failed = failed
        self._under_way: tuple[list[int], Sent] | None = None

    def run(
        self,
        chunks: Iterable[list[int]],
        texts: Sequence[str],
        around: Around,
        host: list[int],
        *,
        split_special_tokens: bool,
    ) -> None:
        """Puts results into `parts`, and the numbers of texts that the device failed at into `host`."""
        with self._batch.entered():
            try:
                for numbers in chunks:
                    if not self._usable():
                        host += numbers
                        continue
                    try:
                        chosen = [texts[number] for number in numbers]
                        sent = self._batch.send(chosen, around, split_special_tokens=split_special_tokens)
                    except CannotEncodeError:
                        raise
                    except Exception as error:
                        self._finish(host)  # before its memory is given back
                        host += numbers
                        self._failed(error)
                        continue
                    if not self._finish(host):
                        host += numbers  # nothing that was sent is kept behind a failure
                    elif self._or_else(host, numbers, lambda sent=sent: self._launch(sent)):  # type: ignore[misc]
                        self._under_way = numbers, sent
                self._finish(host)
            except BaseException:
                self._batch.discard()
                raise

    def _launch(self, sent: Sent) -> None:
        self._batch.launch(sent, on_host=self._on_host)

    def _finish(self, host: list[int]) -> bool:
        if self._under_way is None:
            return True
        (numbers, sent), self._under_way = self._under_way, None

        def take() -> None:
            self.parts.append(Part(numbers, *self._batch.finish(sent, on_host=self._on_host)))

        return self._or_else(host, numbers, take)

    def _or_else(self, host: list[int], numbers: list[int], work: Callable[[], None]) -> bool:
        """Does `work`, unless the device has failed; where it fails, the texts are the host's."""
        if self._usable():
            try:
                work()
                return True
            except Exception as error:
                self._failed(error)
        host += numbers
        return False
