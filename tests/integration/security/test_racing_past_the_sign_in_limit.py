"""Many passwords tried at the same time: each is counted before it is checked, and few are checked at once."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import requests

from app.redis_store.local_counts import WINDOW_S
from app.wiring.services import ATTEMPTS_OF_ACCOUNT_AND_ORIGIN
from tests.integration.security.conftest import OF_ACCOUNT_AND_ORIGIN, OF_ORIGIN, Door, csrf_of, somewhere
from tests.integration.web.conftest import address
from tests.support.deployment import EmbeddedServer


def test_of_many_wrong_passwords_at_once_no_more_than_the_limit_are_checked(door: Door) -> None:
    email, origin = door.account(), somewhere()

    with ThreadPoolExecutor(60) as pool:
        answers = Counter(pool.map(lambda number: door.try_(email, origin, f"guess {number}"), range(120)))

    assert answers["wrong"] <= OF_ACCOUNT_AND_ORIGIN
    assert answers["in"] == 0


def test_of_many_accounts_tried_at_once_from_one_address_no_more_than_its_limit_are_checked(door: Door) -> None:
    origin = somewhere()

    with ThreadPoolExecutor(60) as pool:
        answers = Counter(pool.map(lambda number: door.try_(f"{number}@example.org", origin), range(120)))

    assert answers["wrong"] <= OF_ORIGIN


def test_the_right_password_among_wrong_ones_uses_up_no_tries(door: Door) -> None:
    email, origin = door.account(), somewhere()

    answers = [door.try_(email, origin, password) for password in ["wrong", *["correct horse battery"] * 10, "wrong"]]

    assert answers == ["wrong", *["in"] * 10, "wrong"]


def test_a_hundred_sign_ins_at_once_leave_room_for_other_requests(backend: EmbeddedServer) -> None:
    email, began = address(), time.monotonic()

    def sign_in(_number: int) -> int:
        browser = requests.Session()
        form = {"csrf": csrf_of(browser.get(f"{backend.url}/sign-in", timeout=120).text), "email": email}
        answer = browser.post(f"{backend.url}/sign-in", data=form | {"password": "a wrong guess"}, timeout=120)
        assert answer.status_code == 401 or int(answer.headers["Retry-After"]) >= 1
        return answer.status_code

    with ThreadPoolExecutor(100) as pool:
        tried = [pool.submit(sign_in, number) for number in range(100)]
        alive = requests.get(f"{backend.url}/health/live", timeout=120).status_code
        answers = Counter(one.result() for one in tried)

    assert alive == 200
    assert set(answers) <= {401, 429, 503}
    # A machine that pauses for a minute in between gives everybody as many tries again.
    elapsed_s = time.monotonic() - began
    noted = [line for line in (backend.home / "serve.log").read_text().splitlines() if "rate_limit" in line]
    assert 0 < answers[401] <= ATTEMPTS_OF_ACCOUNT_AND_ORIGIN * (1 + elapsed_s // WINDOW_S), (elapsed_s, noted)
