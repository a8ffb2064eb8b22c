"""Packaging: the version lives in `app/__init__.py`; ranges here, exact pins in `requirements/`.

The server's package contains its client, which has the command `reprise`: one package is all that a first try installs.
"""

import re
import shutil
import tomllib
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent
# A relative path, as setuptools demands.
CLIENT = "clients/python/src"
PROJECT = tomllib.loads((HERE / "clients/python/pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]
CLIENT_PACKAGES = find_packages(str(HERE / CLIENT))
VERSION = re.search(r'^__version__ = "(.+)"$', (HERE / "app/__init__.py").read_text(), re.M)[1]


class BuildFromCleanFolder(build_py):
    """Builds in an empty folder: otherwise the wheel has modules and migrations that were deleted since then."""

    def run(self):
        if not self.editable_mode:
            shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


setup(
    name="reprise",
    version=VERSION,
    description="Versioned prompts, agent traces as conversations, and replays of them against the draft.",
    python_requires=">=3.11",
    cmdclass={"build_py": BuildFromCleanFolder},
    packages=find_packages(include=["app", "app.*", "config", "migrations", "migrations.*"]) + CLIENT_PACKAGES,
    package_dir={name: f"{CLIENT}/{name}" for name in CLIENT_PACKAGES if "." not in name},
    include_package_data=True,
    package_data={
        **PROJECT["tool"]["setuptools"]["package-data"],
        "app.audit": ["languages.toml"],
        "app.models": ["dictionaries/*.zstd"],
        "app.process": ["Procfile"],
        "app.providers": ["catalogue.toml"],
        "app.replay": ["tables.toml"],
        "app.replay.texts": ["words.toml"],
        "app.services.operations": ["demo.json"],
        "app.web": ["templates/*.html", "static/*"],
    },
    install_requires=[
        *PROJECT["project"]["dependencies"],
        *EXTRAS["cli"],
        "alembic>=1.18,<2",
        "apispec>=6.8,<7",
        "argon2-cffi>=25,<26",
        "cronsim>=2.8,<3",
        "cryptography>=48",
        "dramatiq[redis]>=2.2,<3",
        "fakeredis[lua]>=2.36,<3",
        "falcon>=4.4,<5",
        "google-re2>=1.1,<2",
        "googleapis-common-protos>=1.70,<2",
        "gunicorn>=27,<28",
        "jinja2>=3.1,<4",
        "markdown-it-py>=4.2,<5",
        "marshmallow>=4.4,<5",
        "opentelemetry-proto>=1.45,<2",
        "orjson>=3.11,<4",
        "prometheus-client>=0.25,<1",
        "protobuf>=6.33,<8",
        "pyromark>=0.10.3,<0.11",
        "redis[hiredis]>=8,<9",
        "sqlalchemy>=2.1,<2.2",
        "structlog>=25.5",
        "urllib3>=2.6,<3",
        "zstandard>=0.25,<0.26",
    ],
    extras_require={
        **{name: EXTRAS[name] for name in ("instrument", "mcp")},
        # No wheels: needs a compiler, pkg-config and the MySQL or MariaDB headers.
        "mysql": ["mysqlclient>=2.2.7,<3"],
        # Checks the tokens of an OpenID provider.
        "openid": ["joserfc>=1.8,<2"],
        "test": [
            # Brings axe-core along.
            "axe-playwright-python>=0.1.8,<0.2",
            "hypothesis>=6.150,<7",
            "import-linter>=2.9,<3",
            "joserfc>=1.8,<2",
            "jsonschema>=4.25,<5",
            # Of the range that schemathesis accepts.
            "jsonschema-rs>=0.60,<0.61",
            "mypy>=2.3,<3",
            "opentelemetry-sdk>=1.45,<2",
            "playwright>=1.60,<2",
            "pytest>=9,<10",
            "pytest-timeout>=2.4,<3",
            "pytest-xdist>=3.8,<4",
            "ruff>=0.17,<0.18",
            "schemathesis>=4.30,<5",
            "sqlglot>=30,<31",
            "types-jsonschema",
        ],
    },
    entry_points={
        "console_scripts": [f"{name} = {function}" for name, function in PROJECT["project"]["scripts"].items()],
        # They add the server's commands to the client's.
        "reprise.commands": ["server = app.cli:extend"],
    },
)
