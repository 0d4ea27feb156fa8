"""The deployment files are YAML and agree with the code; none of them has been run here."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from edgarmill import __version__
from edgarmill.schemas.settings import Settings

INFRA = Path(__file__).parents[1] / "infra"
LOCK = (INFRA.parent / "requirements.lock").read_text(encoding="utf-8").splitlines()
FILES = sorted(INFRA.rglob("*.yaml"))


def documents(path: Path) -> list[Any]:
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", [*FILES, INFRA / "Dockerfile"], ids=lambda p: p.name)
def test_each_file_says_that_it_was_not_run(path: Path) -> None:
    assert "Not run here" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_each_file_is_yaml_and_sets_only_settings_that_exist(path: Path) -> None:
    assert all(isinstance(d, dict) for d in documents(path))
    names = {n.lower() for n in re.findall(r"EDGARMILL_([A-Z_]+)", path.read_text(encoding="utf-8"))}
    assert names <= set(Settings.model_fields)


def test_a_night_on_ray_has_shared_memory_in_memory_and_its_token_by_secret() -> None:
    job = next(d for d in documents(INFRA / "kubernetes" / "rayjob.yaml") if d["kind"] == "RayJob")
    cluster = job["spec"]["rayClusterSpec"]
    for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
        pod = group["template"]["spec"]
        container = pod["containers"][0]
        mounts = {m["mountPath"]: m["name"] for m in container["volumeMounts"]}
        volume = next(v for v in pod["volumes"] if v["name"] == mounts["/dev/shm"])
        assert volume["emptyDir"]["medium"] == "Memory"
        token = next(e for e in container["env"] if e["name"] == "RAY_AUTH_TOKEN")
        assert "secretKeyRef" in token["valueFrom"] and "value" not in token
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert container["image"] == f"edgarmill:{__version__}"
    assert f"ray=={cluster['rayVersion']}" in LOCK


def test_deployments_name_flows_that_can_be_imported() -> None:
    [found] = documents(INFRA / "prefect.yaml")
    assert f"prefect=={found['prefect-version']}" in LOCK
    for deployment in found["deployments"]:
        module, _, name = deployment["entrypoint"].rpartition(".")
        assert callable(getattr(importlib.import_module(module), name))


def test_the_image_copies_every_room_and_does_not_run_as_root() -> None:
    text = (INFRA / "Dockerfile").read_text(encoding="utf-8")
    links = {p.name for p in (INFRA.parent / "edgarmill").iterdir() if p.is_symlink()}
    assert links <= set(re.findall(r"^COPY (\w+) \1$", text, re.M))
    assert text.rindex("USER edgarmill") > text.rindex("RUN ")
