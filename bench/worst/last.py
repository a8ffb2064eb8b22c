"""Requests that change what the others cost: that remove what these ask for, or mask it, and so come last."""

from __future__ import annotations

from bench.worst.case import CASES, plain
from bench.worst.pages import BIG, LONG

plain("DELETE /api/v1/sessions/{session_id}", name="a long one", ids=LONG)
plain("DELETE /api/v1/prompts/{prompt_id}", name="a big one", ids=BIG)
plain("DELETE /api/v1/test-cases/{test_case_id}", "DELETE /api/v1/credentials/{vendor}")
plain("DELETE /api/v1/models/{model_id}", "DELETE /api/v1/members/{user_id}", "DELETE /api/v1/api-keys/{key_id}")
plain("DELETE /api/v1/model-prices/{price_id}", "DELETE /api/v1/scores/{score_id}")
plain("DELETE /api/v1/online-checks/{check_id}", "DELETE /api/v1/webhooks/{webhook_id}")
plain("DELETE /api/v1/invitations/{invitation_id}", "DELETE /api/v1/alert-rules/{rule_id}")
plain("DELETE /api/v1/session-filters/{filter_id}")

# Forms that remove, revoke or sign out: the generic ones are sent to them.
_FORMS = ("/remove", "/revoke", "/delete", "/archive", "/withdraw", "/clear", "/sign-out")
ROUTES = frozenset(case.route for case in CASES if case.route.startswith("DELETE ")) | {"PUT /api/v1/data-policy"}


def is_last(route: str) -> bool:
    return route in ROUTES or route.endswith(_FORMS)
