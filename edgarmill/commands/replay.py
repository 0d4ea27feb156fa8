"""replay: a folder of filings as an EDGAR of one's own."""

from __future__ import annotations

import click

from edgarmill.options import Given, pass_given, shared


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.option("--port", type=click.IntRange(0, 65535), default=8750, show_default=True, help="0 takes a free one.")
@click.option("--faults", type=click.Path(dir_okay=False), help="TOML or JSON file of faults to answer with: blocks, cuts, resets …")
@click.option("--latency", type=click.FloatRange(0, 600), default=0.0, help="Seconds before each answer.")
@click.option("--recorded", type=click.Path(exists=True, file_okay=False), help="Folder of responses recorded from EDGAR; they come first.")
@shared
@pass_given
def command(given: Given, folder: str, port: int, faults: str | None, latency: float, recorded: str | None) -> None:
    """Serve a folder of submissions on loopback under EDGAR's own addresses, until Ctrl-C."""
    import sys
    import threading
    from datetime import UTC, datetime, timedelta

    from edgarmill.sample.archive import weekdays
    from edgarmill.sample.fault_file import read_faults
    from edgarmill.sample.replay import serving
    from edgarmill.workers.at_once import waited

    script = read_faults(faults) if faults else None
    with serving(folder, port, script=script, latency=latency, recorded=recorded) as server:
        url = server.url
        server.show(days=weekdays((datetime.now(UTC) - timedelta(days=1)).date()))  # so that nightly runs find each day published
        print(f"EDGAR replay of {folder} at {url}; Ctrl-C ends it. In another shell:", flush=True)
        where = f"--set edgar_url={url} --set edgar_data_url={url}"
        print(f'  edgarmill fetch --ticker NAME {where} --user-agent "Name name@company.example"', flush=True)
        try:
            waited(threading.Event())
        except KeyboardInterrupt:
            print("stopped", file=sys.stderr)
        if server.limit.blocked:
            print(f"{server.limit.blocked} requests were refused as too fast: {server.limit.most} within a second", file=sys.stderr)
