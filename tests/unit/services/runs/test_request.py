"""A run's request is stored under the names that rows have always had, and older rows are read."""

import msgspec
import orjson

from app.models.runs import StoredFile, StoredRequest
from app.services.runs.request import without_text

REQUEST = StoredRequest(
    text="Be helpful.",
    format="XML",
    config={"temperature": 0},
    fallback_model_id=None,
    resolved={"tone": "formal", "name": None},
    ignored=["city"],
    files=[StoredFile("a.png", "image/png", 7)],
)
STORED = {
    "text": "Be helpful.",
    "format": "XML",
    "config": {"temperature": 0},
    "fallbackModelId": None,
    "productive": True,
    "stream": False,
    "resolved": {"tone": "formal", "name": None},
    "ignored": ["city"],
    "files": [{"fileName": "a.png", "contentType": "image/png", "size": 7}],
}


def test_a_request_is_stored_with_all_its_fields_in_their_order():
    assert orjson.dumps(REQUEST, default=msgspec.to_builtins) == orjson.dumps(STORED)


def test_the_request_of_a_run_that_has_ended_has_neither_text_nor_seal():
    sealed = msgspec.structs.replace(REQUEST, sealed=True)

    assert msgspec.to_builtins(without_text(sealed)) == {key: STORED[key] for key in STORED if key != "text"}


def test_a_row_from_before_streams_and_second_models_is_read():
    old = {key: STORED[key] for key in STORED if key not in ("text", "stream", "fallbackModelId")}
    read = msgspec.json.decode(orjson.dumps(old), type=StoredRequest)

    assert (read.stream, read.fallback_model_id, bool(read.sealed)) == (False, None, False)
