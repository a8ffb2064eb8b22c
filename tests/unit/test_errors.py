import pytest

from app.errors import BY_CODE, Invalid, ProviderTimeout, ServiceError, Unavailable
from app.http.errors import status_of


def test_each_code_names_its_error() -> None:
    assert {code: error.code for code, error in BY_CODE.items()} == {code: code for code in BY_CODE}
    assert set(ServiceError.__subclasses__()) <= set(BY_CODE.values())
    assert BY_CODE["provider_timeout"] is ProviderTimeout


def test_an_error_without_a_code_has_that_of_its_base() -> None:
    class Missing(Unavailable):
        pass

    assert (Missing.code, Missing.status, BY_CODE["unavailable"]) == ("unavailable", 503, Unavailable)


@pytest.mark.parametrize(
    ("error", "status"), [(Invalid("name: Required."), "400 Bad Request"), (ProviderTimeout(), "504 Gateway Timeout")]
)
def test_an_error_has_the_status_line_of_its_class(error: ServiceError, status: str) -> None:
    assert status_of(error) == status
