"""Moving `prod`: by hand with a reason, or let through by a gate; back again in a second. Who follows it is told by a webhook.

Needs no lock of the lake: a run may be writing meanwhile. Readers that hold the old version keep working, since tags never move.
"""

from __future__ import annotations

import hashlib
import hmac
import json

from edgarmill.retrieval.versions import by_id
from edgarmill.schemas import promotions as log
from edgarmill.schemas.errors import LakeCorrupt, NotVerified, UsageError
from edgarmill.schemas.promotions import Promotion
from edgarmill.schemas.records import IndexVersion
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake

BY_HAND = "by hand"
WEBHOOK_SECONDS = 5.0
MOST_WORDS = 2000  # characters of a gate's line


def promote(lake: Lake, version: IndexVersion, reason: str, gate: str = BY_HAND, verdict: str | None = None) -> Promotion:
    """Makes the version `prod`. `gate` says what let it through, in a line: the gate's own (flows/gate.py), whose verdict stands beside it.

    Raises NotVerified, UsageError (no reason, or it is prod already), LakeCorrupt (its dataset is gone), LakeLocked (moved meanwhile).
    """
    if not reason.strip():
        raise UsageError("a move of prod needs a reason", version.tag or version.version_id, "Say it with --reason.")
    moves = log.promotions(lake.root)
    if moves and moves[-1].version_id == version.version_id:
        raise UsageError("this version is prod already", version.tag or "", "edgarmill index history shows since when.")
    check_usable(lake, version)
    return log.move(lake.root, moves, version, "promote", " ".join(reason.split())[:1000], gate[:MOST_WORDS], verdict)


def rollback(lake: Lake, reason: str) -> Promotion:
    """Back to the version that was `prod` before the current one was promoted; again goes back further.

    Raises UsageError where there is none before it, and as `promote`.
    """
    moves = log.promotions(lake.root)
    standing = log.history(moves)
    if len(standing) < 2:
        what = "no version was prod before this one" if standing else "nothing is promoted yet"
        raise UsageError(what, lake.root, "edgarmill index list shows the versions; edgarmill index promote TAG takes one.")
    version = by_id(lake.snapshot(), standing[-2].version_id)
    check_usable(lake, version)
    return log.move(lake.root, moves, version, "rollback", " ".join(reason.split())[:1000], BY_HAND)


def check_usable(lake: Lake, version: IndexVersion) -> None:
    """A tagged, verified version whose dataset is there. Raises NotVerified, LakeCorrupt."""
    from edgarmill.workers.index.dataset import open_dataset

    if version.state != "verified" or not version.tag:
        raise NotVerified(f"this version is {version.state}", version.version_id, "edgarmill index show names the checks that failed.")
    found = open_dataset(lake, version.recipe, version.tag)
    if found.version != version.lance_version or found.count_rows() != version.chunks:
        what = f"the dataset has {found.count_rows():,} chunks at this tag, the catalog says {version.chunks:,}"
        raise LakeCorrupt(what, version.tag, "edgarmill index verify says more; promote another version.")


def announce(settings: Settings, made: Promotion) -> str | None:
    """Tells the webhook of the settings. Gives what went wrong, in a line (the move stands whatever it answers); None = nothing did.

    The body is the move as JSON; with a secret set, header X-Edgarmill-Signature has its HMAC-SHA256 in hex.
    """
    if not settings.promotion_webhook:
        return None
    import httpx

    body = json.dumps(log.as_json(made), ensure_ascii=False).encode()
    headers = {"Content-Type": "application/json"}
    if settings.promotion_secret is not None:
        key = settings.promotion_secret.get_secret_value().encode()
        headers["X-Edgarmill-Signature"] = hmac.new(key, body, hashlib.sha256).hexdigest()
    try:
        answer = httpx.post(settings.promotion_webhook, content=body, headers=headers, timeout=WEBHOOK_SECONDS, follow_redirects=False)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return f"the webhook could not be told ({type(error).__name__}): tell who follows prod by hand"
    if answer.is_success:
        return None
    return f"the webhook answered {answer.status_code}: tell who follows prod by hand"
