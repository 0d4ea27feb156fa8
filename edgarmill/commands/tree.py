"""tree: the outline of a filing, as nodes with their pages."""

from __future__ import annotations

import click

from edgarmill.options import Given, pass_given, shared
from edgarmill.terminal import clean, show_json

LONGEST = 100  # characters of a title that are shown


@click.command()
@click.argument("accession")
@click.option("--document", default="", metavar="NO|TYPE", help="Another than the main document: EX-13, its place or its name.")
@click.option("--summaries/--no-summaries", default=True, help="Show the nodes' summaries, where there are any.")
@click.option("--tree", "key", default="", metavar="KEY", help="Of several recipes' trees the one with that key (default: the last).")
@shared
@pass_given
def command(given: Given, accession: str, document: str, summaries: bool, key: str) -> None:
    """The node tree of one filing: Parts, Items and headings with node number and pages, and summaries where the recipe made some.

    ACCESSION is a filing of the lake (dashes optional, or its file name). --json prints one object: title, start_index, end_index (physical
    pages, from 1, inclusive), node_id, summary, nodes.

    \b
    Examples:
      edgarmill tree 0000320193-24-000123
      edgarmill tree 0000320193-24-000123 --json > tree.json
      edgarmill tree 0000732717-05-000093 --document EX-13 --no-summaries
    """
    from edgarmill.retrieval.trees import nested, tree_of

    found = tree_of(given.snapshot(), accession, document, key)
    if given.json:
        return show_json(nested(found, summaries))
    for node in found.nodes:
        pages = f"{node.start_index}" if node.start_index == node.end_index else f"{node.start_index}-{node.end_index}"
        print(f"{node.node_id}  p. {pages:<9}{'  ' * node.level}{clean(node.title)[:LONGEST]}")
        if summaries and node.summary is not None:
            print(f"{' ' * 17}{'  ' * node.level}  {clean(node.summary)}")
    if found.root.fallback:
        print(f"\nnot the recipe's own tree, but the one by headings: {clean(found.root.fallback)}")
    for other in found.others:
        print(f"\nalso: --document {clean(other)}")
