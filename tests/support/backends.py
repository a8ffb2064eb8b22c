"""Marks tests of what no database can change, which run on the embedded backend alone."""

import pytest

# How a path is spelled is decided before a database is asked, by the same code in front of each.
EMBEDDED_CONTAINER = pytest.mark.parametrize("container", ["embedded"], indirect=True)
EACH_CONTAINER = pytest.mark.parametrize(
    "container", ["embedded", pytest.param("services", marks=pytest.mark.services)], indirect=True
)
# Where packages have a container of their own.
SQLITE_CONTAINER = pytest.mark.parametrize("container", ["sqlite"], indirect=True)
