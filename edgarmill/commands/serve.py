"""serve: the lake over HTTP."""

from __future__ import annotations

import click

from edgarmill.options import Given, pass_given, setting, shared


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; any but this machine's own needs a key.")
@click.option("--port", type=click.IntRange(0, 65535), default=8788, show_default=True, help="Port; 0 takes a free one and says which.")
@setting("--device", "device", "auto, cpu, cuda, mps.")
@shared
@pass_given
def command(given: Given, host: str, port: int) -> None:
    """Serve searches, chunks, outlines and facts over HTTP; prod is followed without a restart.

    Every answer says which version gave it. Where nothing is promoted the newest verified version is served. /openapi.json documents the
    addresses; /health, /ready and /metrics are for whoever runs it. --json writes the log, a line a request, as JSON.

    \b
    Keys: none on 127.0.0.1 unless EDGARMILL_SERVICE_KEYS is set; elsewhere it must be (several keys parted by commas).
    Limits are settings: service_threads, service_at_once, service_seconds, service_hits, service_body_bytes.
    """
    from edgarmill.retrieval.service.running import serve

    serve(given.lake(), given.settings(), host, port, given.json)
