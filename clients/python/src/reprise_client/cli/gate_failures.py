"""Reads the first failing replays of an experiment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reprise_formats.experiment_failures import first_failing

from reprise_client.cli.failures import CouldNotRun
from reprise_client.cli.remote import Remote


def read_failures(instance: Remote, experiment: Mapping[str, Any]) -> dict[int, Mapping[str, Any]]:
    """Return the first failing replays of some test cases, by id, without any that can't be read."""
    replays: dict[int, Mapping[str, Any]] = {}
    for replay_id in first_failing(experiment):
        try:
            replays[replay_id] = instance.get(f"/api/v1/replays/{replay_id}")
        except CouldNotRun:
            continue
    return replays
