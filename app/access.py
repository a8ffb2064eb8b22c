"""Declares who may call a route: the app does not start with a resource that has no `access`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from app.models.organizations import Role

T = TypeVar("T")
Scope = Literal["run", "read", "write", "ingest", "admin"]


class UndeclaredAccess(TypeError):
    """A route does not say who may call each of its methods."""


@dataclass(frozen=True, slots=True)
class _Callers:
    """The callers of a route, and the methods that it answers."""

    methods: Collection[str]


@dataclass(frozen=True, slots=True)
class _ByMethod(_Callers, Generic[T]):
    """Callers that have what their method takes."""

    methods: Mapping[str, T]

    def needed(self, method: str) -> T | None:
        """Return what the method takes, HEAD as GET does; None for a method that the route does not answer."""
        return self.methods.get("GET" if method == "HEAD" else method)


class ByKey(_ByMethod[Scope]):
    """An API key with the scope that the method takes."""


@dataclass(frozen=True, slots=True)
class ByRole(_ByMethod[Role]):
    """A signed-in member of the project in the address, with the role that the method takes, or one above it.

    With `of_operators` the project must be of the instance's first organization; in others there is no such path.
    """

    of_operators: bool = False


class SignedIn(_Callers):
    """Any signed-in user: for addresses that belong to no project."""


class ByMetricsToken(_Callers):
    """Callers with the token of the setting REPRISE_METRICS_TOKEN; without the setting there is no such path."""


class Public(_Callers):
    """Anybody."""


Access = ByKey | ByRole | SignedIn | ByMetricsToken | Public


def access_of(resource: object) -> Access:
    """Return the access that the resource declares; raises `UndeclaredAccess` when it declares none."""
    access = getattr(resource, "access", None)
    if not isinstance(access, Access):
        raise UndeclaredAccess(f"{type(resource).__name__} does not declare its access (see app/access.py).")
    return access


def check_declared(path: str, resource: object, *, responders: Collection[str], parameters: Collection[str]) -> Access:
    """Return the access of a route; `UndeclaredAccess` unless it is declared for just the methods in `responders`.

    A role is one in a project, so that a route with roles has `project_id` among its path's `parameters`.
    """
    access = access_of(resource)
    if set(access.methods) != set(responders):
        raise UndeclaredAccess(f"{path} answers {sorted(responders)} and declares {sorted(access.methods)}.")
    if isinstance(access, ByRole | SignedIn) and isinstance(access, ByRole) != ("project_id" in parameters):
        raise UndeclaredAccess(f"{path} takes ByRole with a project in its path, and SignedIn without one.")
    return access
