"""The Lance dataset of a recipe: build from a snapshot, verify, tag. Only the driver of a run calls these, under the lake's lock.

    built = build(lake, snapshot, spec, run_id)      # writes new Lance versions; readers of the old tag see none of it
    checks = verify(lake, built, spec)
    name = tag(lake, built, checks, day)             # NotVerified unless all hold
    version = version_of(lake, built, spec, name, created_at)

The caller commits `version`, `checks` and `indexes={recipe: built.lance_version}` in one snapshot. When `built.known`, the snapshot has
version and checks already and only `indexes` may have to go back to it.
"""

from edgarmill.workers.index.dataset import Built, build
from edgarmill.workers.index.release import clean, tag, version_of
from edgarmill.workers.index.rows import INDEX_SCHEMA_VERSION, IndexSpec, index_schema
from edgarmill.workers.index.verification import verify, verify_again

__all__ = ["INDEX_SCHEMA_VERSION", "Built", "IndexSpec", "build", "clean", "index_schema", "tag", "verify", "verify_again", "version_of"]
