"""replay: a folder of filings as an EDGAR of one's own."""

from __future__ import annotations

import click

from edgarmill.options import Given, pass_given, shared


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.option("--port", type=click.IntRange(0, 65535), default=8750, show_default=True, help="0 takes a free one.")
@shared
@pass_given
def command(given: Given, folder: str, port: int) -> None:
    """Serve a folder of submissions on loopback under EDGAR's own addresses, until Ctrl-C."""
    import sys
    import threading

    from edgarmill.sample.replay import serving

    with serving(folder, port) as server:
        url = server.url
        print(f"EDGAR replay of {folder} at {url}; Ctrl-C ends it. In another shell:", flush=True)
        where = f"--set edgar_url={url} --set edgar_data_url={url}"
        print(f'  edgarmill ingest --ticker NAME {where} --user-agent "Name name@company.example"', flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print("stopped", file=sys.stderr)
