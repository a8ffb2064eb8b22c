"""Runs of prompts: accepted as rows, executed once, finished or seen to be interrupted (docs/adr/0003)."""

from app.services.runs.commands import Idempotency, RunCommand, Started
from app.services.runs.service import RunService

__all__ = ["Idempotency", "RunCommand", "RunService", "Started"]
