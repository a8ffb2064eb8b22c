"""Requests that change what the others cost: that remove what these ask for, or mask it, and so come last."""

from __future__ import annotations

# Forms that remove, revoke or sign out: the generic ones are sent to them.
_FORMS = ("/remove", "/revoke", "/delete", "/archive", "/withdraw", "/clear", "/sign-out")


def is_last(route: str) -> bool:
    return route.startswith("DELETE ") or route == "PUT /api/v1/data-policy" or route.endswith(_FORMS)
