"""Prometheus metrics of tokenization, in the registry that the engine serves under /metrics.

lopt_tokenization_seconds{route}  histogram: duration of a call, by the route that produced the ids; a batch is one call
lopt_fallbacks_total{reason}      counter: calls that the Hugging Face tokenizer answered, by reason; a tokenizer that
                                  is not accelerated at all counts once, when it is loaded
lopt_prefix_cache_*_total         counters of the prefix cache: `lookups`, `hits`, `evictions`, and `saved_bytes` that
                                  were not tokenized again

prometheus_client adds up several server processes (PROMETHEUS_MULTIPROC_DIR). vLLM sets that variable itself if it
starts several.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from ..encoder.metrics import Observer
from ..settings import logger

# A prompt of a few words takes microseconds; one of a million tokens takes Hugging Face seconds.
BUCKETS_S = (1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
# Each label creates a time series that is never removed, so further reasons share one.
MOST_REASONS = 32
OTHER_REASONS = "other"
# By their names in the core: the name of the metric, and its help text.
PREFIX_COUNTERS = {
    "lookups": ("lookups", "Texts looked up in the prefix cache."),
    "hits": ("hits", "Texts with a cached prefix."),
    "bytes_saved": ("saved_bytes", "Bytes of UTF-8 that were not tokenized again."),
    "evictions": ("evictions", "Entries evicted from the prefix cache."),
}


class PrometheusObserver:
    """An Observer that writes to prometheus_client's default registry; its metrics are created with it."""

    def __init__(self) -> None:
        from prometheus_client import Counter, Histogram

        self._seconds = Histogram(
            "lopt_tokenization_seconds", "Duration of a tokenizer call, by route.", ["route"], buckets=BUCKETS_S
        )
        self._fallbacks = Counter(
            "lopt_fallbacks", "Tokenizer calls answered by the Hugging Face tokenizer, by reason.", ["reason"]
        )
        self._prefixes = {
            counted: Counter(f"lopt_prefix_cache_{name}", text) for counted, (name, text) in PREFIX_COUNTERS.items()
        }
        self._of_route = functools.cache(self._seconds.labels)
        self._reasons: set[str] = set()
        self._broken = False

    def encoded(self, route: str, seconds: float) -> None:
        try:
            self._of_route(route).observe(seconds)
        except Exception:
            self._log_once()

    def fell_back(self, reason: str) -> None:
        try:
            if len(self._reasons) < MOST_REASONS:
                self._reasons.add(reason)
            self._fallbacks.labels(reason if reason in self._reasons else OTHER_REASONS).inc()
        except Exception:
            self._log_once()

    def remembered(self, counts: Mapping[str, int]) -> None:
        try:
            for counted, series in self._prefixes.items():
                if counts.get(counted):
                    series.inc(counts[counted])
        except Exception:
            self._log_once()

    def _log_once(self) -> None:
        if not self._broken:
            self._broken = True
            logger.exception("lopt_plugin: a metric could not be written; tokenization is not affected")


@functools.cache
def observer() -> Observer | None:
    """The observer of this process; None if prometheus_client is missing or the names are taken."""
    try:
        return PrometheusObserver()
    except ImportError:
        return None
    except Exception:
        logger.exception("lopt_plugin: could not create the metrics of tokenization; /metrics will not have them")
        return None
