"""Declares who may call a route. The app does not start when a resource has no `access`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from app.models.organizations import Role

T = TypeVar("T")
Scope = Literal["run", "read", "write", "ingest", "admin"]


class UndeclaredAccess(TypeError):
    """A route does not declare who may call each of its methods."""


@dataclass(frozen=True, slots=True)
class _Callers:
    """The callers of a route, and the methods that they may call."""

    methods: Collection[str]


@dataclass(frozen=True, slots=True)
class _ByMethod(_Callers, Generic[T]):
    """Callers with the scope or role that their method needs."""

    methods: Mapping[str, T]

    def needed(self, method: str) -> T | None:
        """Return what the method needs, for HEAD what GET needs; None for a method that the route does not have."""
        return self.methods.get("GET" if method == "HEAD" else method)


class ByKey(_ByMethod[Scope]):
    """An API key with the scope that the method needs."""


@dataclass(frozen=True, slots=True)
class ByRole(_ByMethod[Role]):
    """A signed-in member of the project in the path, with at least the role that the method needs.

    With `of_operators` the project must belong to the instance's first organization; for others the path does not
    exist.
    """

    of_operators: bool = False


class BySession(_Callers):
    """Any signed-in user, for paths without a project."""


class ByProgramToken(_Callers):
    """A program that a replay plays, with the token of that replay where its vendor's SDK sends the key."""


class ByMetricsToken(_Callers):
    """Callers with the token of the setting REPRISE_METRICS_TOKEN; without the setting the path does not exist."""


class Public(_Callers):
    """Anybody."""


Access = ByKey | ByRole | BySession | ByProgramToken | ByMetricsToken | Public


def access_of(resource: object) -> Access:
    """Return the access that the resource declares; raise `UndeclaredAccess` when it declares none."""
    access = getattr(resource, "access", None)
    if not isinstance(access, Access):
        raise UndeclaredAccess(f"{type(resource).__name__} does not declare its access (see app/http/access.py).")
    return access


def check_declared(path: str, resource: object, *, responders: Collection[str], parameters: Collection[str]) -> Access:
    """Return the access of a route; raise `UndeclaredAccess` unless it is declared for exactly its `responders`.

    Roles belong to a project, so a route with roles must have `project_id` among its path's `parameters`.
    """
    access = access_of(resource)
    if set(access.methods) != set(responders):
        raise UndeclaredAccess(f"{path} answers {sorted(responders)} and declares {sorted(access.methods)}.")
    if isinstance(access, ByRole | BySession) and isinstance(access, ByRole) != ("project_id" in parameters):
        raise UndeclaredAccess(f"{path} needs ByRole with a project in its path, and BySession without one.")
    return access
