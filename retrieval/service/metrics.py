"""What Prometheus reads at /metrics. Labels have few values: routes, not paths; known methods."""

from __future__ import annotations

from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)  # seconds
METHODS = ("GET", "POST", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS")


@dataclass
class Metrics:
    """One registry a service: two in one process do not meet."""

    registry: CollectorRegistry = field(default_factory=CollectorRegistry)

    def __post_init__(self) -> None:
        asked = ("method", "route")
        self.requests = Counter("edgarmill_requests", "Requests answered.", (*asked, "status"), registry=self.registry)
        self.seconds = Histogram("edgarmill_request_seconds", "From the first byte to the last.", asked, buckets=BUCKETS,
                                 registry=self.registry)
        self.under_way = Gauge("edgarmill_under_way", "Requests that wait for or have a thread.", registry=self.registry)
        self.version = Gauge("edgarmill_version", "1 for the version that is served.", ("recipe", "tag", "version_id"),
                             registry=self.registry)
        self.swaps = Counter("edgarmill_version_swaps", "Versions opened and served.", registry=self.registry)
        self.failures = Counter("edgarmill_version_failures", "Tries to open a version that failed.", registry=self.registry)
        self.behind = Gauge("edgarmill_behind", "1 while another version than the wanted one is served.", registry=self.registry)
        ProcessCollector(registry=self.registry)

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        method = method if method in METHODS else "other"
        self.requests.labels(method, route, str(status)).inc()
        self.seconds.labels(method, route).observe(seconds)

    def served(self, recipe: str, tag: str, version_id: str) -> None:
        self.version.clear()
        self.version.labels(recipe, tag, version_id).set(1)
        self.swaps.inc()

    def text(self) -> bytes:
        return generate_latest(self.registry)
