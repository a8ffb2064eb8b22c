"""Addresses of pages."""

from __future__ import annotations


def page_url(base: str, project_id: int, kind: str, id_: int) -> str:
    """Return the address of a page of a project, such as that of kind "replays"; a path if `base` is empty.

    `base` is the public base URL of the instance.
    """
    return f"{base.rstrip('/')}/projects/{project_id}/{kind}/{id_}"
