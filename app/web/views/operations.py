"""What all processes of the instance are doing; for its operators, as it is about all organizations together."""

from __future__ import annotations

import falcon
import redis

from app.access import ByRole
from app.errors import Unavailable
from app.models.memberships import Role
from app.web.page import Page
from app.web.presenters.operations import operations_page


class OperationsView(Page):
    access = ByRole({"GET": Role.ADMIN}, of_operators=True)
    section = "operations"

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int) -> None:
        try:
            found = self.services.metrics.read()
        except redis.RedisError as error:
            raise Unavailable("Redis, which keeps the metrics, does not answer.") from error
        self.show(req, resp, "operations.html", operations_page(found))
