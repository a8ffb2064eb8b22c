"""Signed-in browsers, as the tests of the pages have them."""

from tests.integration.web.conftest import admin, member_of

__all__ = ["admin", "member_of"]
