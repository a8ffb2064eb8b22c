"""Declares who may call a route: the app does not start with a resource that has no `access`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from app.models.organizations import Role

Scope = Literal["run", "read", "write", "ingest", "admin"]


class UndeclaredAccess(TypeError):
    """A route does not say who may call each of its methods."""


@dataclass(frozen=True, slots=True)
class ByKey:
    """An API key with the scope that the method takes."""

    methods: Mapping[str, Scope]

    def scope(self, method: str) -> Scope | None:
        """None for a method that the route does not answer."""
        return self.methods.get(_declared(method))


@dataclass(frozen=True, slots=True)
class ByRole:
    """A signed-in member of the project in the address, with the role that the method takes, or one above it.

    With `of_operators` the project must be of the instance's first organization; in others there is no such path.
    """

    methods: Mapping[str, Role]
    of_operators: bool = False

    def role(self, method: str) -> Role | None:
        """None for a method that the route does not answer."""
        return self.methods.get(_declared(method))


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Any signed-in user: for addresses that belong to no project."""

    methods: Collection[str]


@dataclass(frozen=True, slots=True)
class ByMetricsToken:
    """Callers with the token of the setting REPRISE_METRICS_TOKEN; without the setting there is no such path."""

    methods: Collection[str]


@dataclass(frozen=True, slots=True)
class Public:
    """Anybody."""

    methods: Collection[str]


Access = ByKey | ByRole | SignedIn | ByMetricsToken | Public


def access_of(resource: object) -> Access:
    """Return the access that the resource declares; raises `UndeclaredAccess` when it declares none."""
    access = getattr(resource, "access", None)
    if not isinstance(access, Access):
        raise UndeclaredAccess(f"{type(resource).__name__} does not declare its access (see app/access.py).")
    return access


def check_declared(path: str, resource: object, *, responders: Collection[str], parameters: Collection[str]) -> Access:
    """The access of the route, if it is declared for exactly the methods in `responders`, else `UndeclaredAccess`.

    A role is one in a project, so that a route with roles has `project_id` among its path's `parameters`.
    """
    access = access_of(resource)
    if set(access.methods) != set(responders):
        raise UndeclaredAccess(f"{path} answers {sorted(responders)} and declares {sorted(access.methods)}.")
    if isinstance(access, ByRole | SignedIn) and isinstance(access, ByRole) != ("project_id" in parameters):
        raise UndeclaredAccess(f"{path} takes ByRole with a project in its path, and SignedIn without one.")
    return access


def _declared(method: str) -> str:
    """HEAD is answered as GET is."""
    return "GET" if method == "HEAD" else method
