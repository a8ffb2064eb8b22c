"""The app's routes as the router has them: what walks them can forget none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import falcon.inspect

from app.http.access import Access
from app.http.route_table import RoutedApp, Router

# Falcon knows how to look into its own router, not into classes that are made of it.
falcon.inspect.register_router(Router)(falcon.inspect.inspect_compiled_router)
_PARAMETER = re.compile(r"{(\w+)(?::[^{}]*)?}")
# Well-formed, and nowhere there.
NOTHING: dict[str, Any] = {
    "prompt_id": 2**62,
    "commit_hash": "0" * 64,
    "run_id": 2**62,
    "session_id": "0" * 32,
    "span_id": "0" * 16,
    "test_case_id": 2**62,
    "replay_id": 2**62,
    "audit_id": 2**62,
    "calibration_id": 2**62,
    "experiment_id": 2**62,
    "map_id": 2**62,
    "key_id": 2**62,
    "vendor": "DEEPSEEK",
    "model_id": 2**62,
    "price_id": 2**62,
    "project_id": 2**62,
    "invitation_id": 2**62,
    "user_id": 2**62,
    "rule_id": 2**62,
    "webhook_id": 2**62,
    "delivery_id": 2**62,
    "step": 0,
    "turn": 1,
    "text": "user",
    "attribute": 0,
    "file": 0,
    "label": "nowhere",
    "kind": "sessions",
    "token": "0" * 43,
    "agent": "nowhere",
    "name": "app.css",
    "score_id": "nowhere",
    "check_id": 2**62,
    "filter_id": 2**62,
    "schedule_id": 2**62,
    "suite_id": 2**62,
    "finding_id": "0" * 32,
    "model": "nowhere:generateContent",
}


@dataclass(frozen=True, slots=True, order=True)
class ApiRoute:
    """A method of a path; `template` is the path with `{names}`, without converters."""

    template: str
    method: str

    @property
    def parameters(self) -> list[str]:
        return _PARAMETER.findall(self.template)

    def path(self, values: Mapping[str, object]) -> str:
        """The path with its parameters filled in; KeyError names one that is missing."""
        return filled(self.template, values)

    def __str__(self) -> str:
        return f"{self.method} {self.template}"


def filled(template: str, values: Mapping[str, object]) -> str:
    return _PARAMETER.sub(lambda match: str(values[match[1]]), template)


def api_routes(app: RoutedApp) -> list[ApiRoute]:
    """Each method of each path under /api; HEAD, which is answered wherever GET is, goes without saying."""
    return sorted(
        ApiRoute(route.path, method)
        for route in app.routes
        if route.path.startswith("/api/")
        for method in route.responders
    )


@lru_cache(maxsize=1)
def accesses(app: RoutedApp) -> Mapping[str, Access]:
    """Return the access that each path of the app declares, by template; fails for a path without any."""
    access_by_path = {route.path: route.access for route in app.routes}
    answered = {_PARAMETER.sub(r"{\1}", route.path) for route in falcon.inspect.inspect_routes(app)}
    assert answered == set(access_by_path)
    return access_by_path
