"""What the public workflows name is there, and what comes from elsewhere cannot write.

The workflows themselves run elsewhere; here their files are read.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from .helpers import ROOT

WORKFLOWS = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
             for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))}  # fmt: skip


def steps(job: dict[str, Any]) -> str:
    """The commands of a job, one a line."""
    return "\n".join(step.get("run", "") for step in job["steps"])


@pytest.mark.parametrize("name", WORKFLOWS)
def test_what_a_workflow_names_is_there(name: str) -> None:
    targets = set(re.findall(r"(?m)^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8")))
    for job in WORKFLOWS[name]["jobs"].values():
        assert job["timeout-minutes"] <= 60 if "timeout-minutes" in job else name == "ci"
        for folder in job.get("strategy", {}).get("matrix", {}).get("folder", []):
            assert (ROOT / folder / "package-lock.json").is_file()
        commands = steps(job)
        assert set(re.findall(r"\bmake ([a-z]+)", commands)) <= targets
        paths = re.findall(r"(?:--ignore|--requirement) (\S+)|(?m:^(\.ci/\S+))", commands)
        for path in filter(None, (one for pair in paths for one in pair)):
            assert (ROOT / path).exists(), path
        for step in job["steps"]:
            if cached := step.get("with", {}).get("cache-dependency-path"):
                assert (ROOT / cached).is_file()


def test_what_comes_from_elsewhere_cannot_write_here() -> None:
    for workflow in WORKFLOWS.values():
        assert workflow["permissions"] == {"contents": "read"}
        for name, job in workflow["jobs"].items():
            assert "permissions" not in job or name == "publish"
        assert "${{ github.event" not in "".join(map(steps, workflow["jobs"].values()))
