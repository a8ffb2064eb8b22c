"""An error that was answered keeps nothing of its request in memory."""

from __future__ import annotations

import weakref
from typing import Any

import falcon
import pytest
from falcon.testing import TestClient

from app.errors import Invalid
from app.http import errors


class Held:
    """What a request has in memory."""


@pytest.mark.parametrize(
    ("outer", "status"), [(Invalid("outer"), 400), (falcon.HTTPBadRequest(), 400), (RuntimeError("outer"), 500)]
)
def test_an_answered_error_refers_to_nothing_of_its_request(outer: Exception, status: int) -> None:
    kept: list[BaseException] = []
    objects: list[weakref.ref[Held]] = []

    class Failing:
        def on_get(self, _req: falcon.Request, _resp: falcon.Response) -> None:
            held = Held()
            objects.append(weakref.ref(held))
            try:
                raise ValueError("inner")
            except ValueError as error:
                kept.append(outer)
                raise kept[0] from error

    app: Any = falcon.App()
    errors.install(app)
    app.add_route("/failing", Failing())

    assert TestClient(app).simulate_get("/failing").status_code == status
    assert objects[0]() is None
