"""hadolint accepts the Dockerfiles; Kubernetes would accept the manifest, which fits its image."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
EXAMPLE = REPOSITORY / "examples" / "render_tier"
DOCKERFILES = [EXAMPLE / "Dockerfile", *sorted((REPOSITORY / "release" / "docker").glob("*.Dockerfile"))]


def manifest() -> tuple[dict[str, Any], dict[str, Any]]:
    """The Deployment and the Service."""
    deployment, service = yaml.safe_load_all((EXAMPLE / "render.yaml").read_text())
    assert (deployment["kind"], service["kind"]) == ("Deployment", "Service")
    return deployment, service


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda path: path.name)
def test_hadolint(dockerfile: Path) -> None:
    hadolint = shutil.which("hadolint", path=Path(sys.executable).parent)
    if hadolint is None:
        pytest.skip("hadolint is not installed for this processor")
    linted = subprocess.run([hadolint, str(dockerfile)], capture_output=True, text=True)
    assert (linted.returncode, linted.stdout) == (0, "")


def test_kubernetes_accepts_the_manifest() -> None:
    import kubernetes_validate

    for document in manifest():
        kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)


def test_the_manifest_fits_the_image() -> None:
    deployment, service = manifest()
    template = deployment["spec"]["template"]
    (container,) = template["spec"]["containers"]
    dockerfile = (EXAMPLE / "Dockerfile").read_text()
    assert service["spec"]["selector"].items() <= template["metadata"]["labels"].items()
    assert deployment["spec"]["selector"]["matchLabels"] == template["metadata"]["labels"]
    (port,) = container["ports"]
    assert f"EXPOSE {port['containerPort']}\n" in dockerfile
    entry_point = json.loads(re.findall(r"^ENTRYPOINT (.+)$", dockerfile, re.MULTILINE)[0])
    assert entry_point[-2:] == ["--port", str(port["containerPort"])]
    assert service["spec"]["ports"][0]["targetPort"] == port["name"]
    assert {container[probe]["httpGet"]["port"] for probe in ("startupProbe", "readinessProbe")} == {port["name"]}
    assert f"USER {template['spec']['securityContext']['runAsUser']}\n" in dockerfile
    assert container["volumeMounts"][0]["mountPath"] in dockerfile
