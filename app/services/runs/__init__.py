"""Runs of prompts: stored as rows, executed once, then finished or interrupted (docs/adr/0003)."""

from app.services.runs.new_runs import Idempotency, StartedRun
from app.services.runs.request import RunCommand
from app.services.runs.service import RunService

__all__ = ["Idempotency", "RunCommand", "RunService", "StartedRun"]
