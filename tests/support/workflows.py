"""The jobs of the shipped workflow files as shell scripts, read from the YAML that users copy."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.support.deployment import ROOT

CI = ROOT / "docs" / "ci"
# The command is installed already.
INSTALL = "python -m pip install"
_EXPRESSION = re.compile(r"\$\{\{ *([\w.]+) *\}\}")


@dataclass(frozen=True)
class Done:
    """`failed`: the forge shows the job as failed; `log` is what it shows."""

    failed: bool
    log: str


def read_workflow(name: str) -> Any:
    return yaml.load((CI / name).read_text(), Loader=yaml.BaseLoader)


def run_github(
    folder: Path,
    env: Mapping[str, str],
    context: Mapping[str, str],
    job: str = "gate",
    file: str = "github-actions.yml",
) -> Done:
    """Run the steps of a job in a checkout; `context` has the values of expressions such as `vars.X`."""
    failed, log = False, ""
    for step in read_workflow(file)["jobs"][job]["steps"]:
        if "run" not in step or step["run"].startswith(INSTALL) or (failed and "if" not in step):
            continue
        variables = {name: _evaluated(value, context) for name, value in step.get("env", {}).items()}
        done = _bash(["-e"], step["run"], folder, {**env, **variables})
        failed, log = failed or done.returncode != 0, log + done.stdout
    return Done(failed, log)


def run_gitlab(folder: Path, env: Mapping[str, str], job: str = "gate", file: str = "gitlab-ci.yml") -> Done:
    """Run a job's `script`, and after it `after_script`, which can't fail the job."""
    steps = read_workflow(file)[job]
    script = "\n".join(line for line in steps["script"] if not line.startswith(INSTALL))
    first = _bash(["-eo", "pipefail"], script, folder, env)
    last = _bash(["-eo", "pipefail"], "\n".join(steps.get("after_script", [])), folder, env)
    return Done(first.returncode != 0, first.stdout + last.stdout)


def _evaluated(value: str, context: Mapping[str, str]) -> str:
    return _EXPRESSION.sub(lambda match: context[match[1]], value)


def _bash(options: list[str], script: str, folder: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "--noprofile", "--norc", *options, "-c", script],
        env=env,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
        check=False,
    )
