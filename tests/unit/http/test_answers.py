"""Large answers that are not read need a bounded part of a process's memory."""

from types import SimpleNamespace

import falcon
import pytest
from falcon.testing import TestClient, create_environ

from app.http import answers, errors
from app.http.answers import LARGE_ANSWER, AnswersAtOnce

ROOM = 4 * LARGE_ANSWER


class Owned:
    """The header `Organization` names the organization of a request; without it the caller is a stranger."""

    def process_resource(self, req, _resp, _resource, _params):
        if owner := req.get_header("Organization"):
            req.context.key = SimpleNamespace(organization_id=int(owner))


class Sized:
    """Answers with as many bytes as the query asks for."""

    def on_get(self, req, resp):
        resp.set_header("Content-Encoding", "gzip")
        resp.data = b"x" * req.get_param_as_int("size")

    on_head = on_get


@pytest.fixture
def refused():
    return []


@pytest.fixture
def app(monkeypatch, refused):
    monkeypatch.setattr(answers, "ANSWERS_BYTES", ROOM)
    monkeypatch.setattr(answers, "ANSWER_WAIT_S", 0.0)
    app = falcon.App(middleware=[AnswersAtOnce(on_refused=lambda: refused.append(1)), Owned()])
    errors.install(app)
    app.add_route("/sized", Sized())
    return app


def begin(app, size, organization_id=1, method="GET"):
    """Return the status of an answer, and the answer, of which nothing is read."""
    headers = {"Organization": str(organization_id)} if organization_id else {}
    begun = []
    environ = create_environ("/sized", query_string=f"size={size}", headers=headers, method=method)
    answer = app(environ, lambda status, _headers: begun.append(status[:3]))
    return begun[0], answer


def test_an_organization_has_room_for_unread_answers_and_another_one_a_share(app, refused):
    held = [begin(app, LARGE_ANSWER) for _ in range(5)]
    assert [status for status, _ in held] == ["200"] * 4 + ["503"]
    assert len(refused) == 1
    other = begin(app, LARGE_ANSWER, organization_id=2)
    assert other[0] == "200"

    held[0][1].close()
    assert begin(app, LARGE_ANSWER)[0] == "503", "the other organization's answer is in memory, too"
    other[1].close()
    assert begin(app, LARGE_ANSWER)[0] == "200"


@pytest.mark.parametrize(
    "uncounted", [{"size": LARGE_ANSWER - 1}, {"size": ROOM, "organization_id": 0}, {"size": ROOM, "method": "HEAD"}]
)
def test_small_answers_heads_and_answers_to_strangers_are_not_counted(app, uncounted):
    held = [begin(app, ROOM)]

    held += [begin(app, **uncounted) for _ in range(20)]

    assert {status for status, _ in held} == {"200"}


def test_an_answer_is_sent_whole_and_then_leaves_its_room(app):
    client = TestClient(app, headers={"Organization": "1"})
    for _ in range(3):
        answer = client.simulate_get("/sized", params={"size": 2 * ROOM})
        assert (answer.status_code, len(answer.content)) == (200, 2 * ROOM)
        assert (answer.headers["content-length"], answer.headers["content-encoding"]) == (str(2 * ROOM), "gzip")


def test_a_refusal_may_be_repeated_and_is_not_encoded_like_the_answer(app):
    _, held = begin(app, ROOM)

    refusal = TestClient(app).simulate_get("/sized", params={"size": LARGE_ANSWER}, headers={"Organization": "1"})

    assert (refusal.status_code, refusal.headers["retry-after"]) == (503, "1")
    assert "error" in refusal.json
    assert "content-encoding" not in refusal.headers
    held.close()
