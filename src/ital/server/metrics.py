"""What Prometheus is told."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Gauge, Histogram

REGISTRY = CollectorRegistry()
ROUND_SECONDS = Histogram(
    "ital_round_seconds",
    "From answers to the next batch.",
    registry=REGISTRY,
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
SEARCHES_IN_MEMORY = Gauge("ital_searches_in_memory", "Searches held in memory.", registry=REGISTRY)
PICTURES = Gauge(
    "ital_pictures", "Pictures in a collection.", ["collection", "name"], registry=REGISTRY
)
