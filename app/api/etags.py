"""If-Match, which keeps one editor from overwriting another."""

from __future__ import annotations

import falcon


def if_match(req: falcon.Request) -> frozenset[str] | None:
    """The strong ETags (or "*") of which one must be the draft's; None when the caller asks for no check."""
    tags = req.if_match
    if tags is None:
        return None
    return frozenset(str(tag) for tag in tags if not getattr(tag, "is_weak", False))
