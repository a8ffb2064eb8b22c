"""One running container per backend for all tests about prompts; each test has a separate organization."""

from collections.abc import Iterator

import pytest

from app.wiring.container import Container
from tests.support.mariadb import MariaDB
from tests.support.world import running, settings_for


@pytest.fixture(scope="package", params=["sqlite", pytest.param("mysql", marks=pytest.mark.services)])
def container(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Container]:
    home = tmp_path_factory.mktemp(request.param)
    if request.param == "sqlite":
        with running(settings_for(home)) as sqlite:
            sqlite.services.models.sync_catalogue()
            yield sqlite
        return
    mariadb: MariaDB = request.getfixturevalue("mariadb")
    with mariadb.database() as url, running(settings_for(home, mysql_url=url)) as mysql:
        mysql.services.models.sync_catalogue()
        yield mysql
