"""The environment of the templates: everything is escaped, and a missing name is an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app.timestamps import Now
from app.web import charts, filters, labels
from app.web.assets import Assets
from app.web.navigation import navigation

FOLDER = Path(__file__).parent / "templates"


class Templates:
    def __init__(self, *, assets: Assets, now: Now) -> None:
        self._environment = Environment(
            loader=FileSystemLoader(FOLDER),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.filters.update(filters.FILTERS, relative=filters.relative_to(now))
        self._environment.globals.update(
            asset=assets.url, bars=charts.bars, share=charts.share, labels=labels, navigation=navigation
        )

    def render(self, template: str, **context: Any) -> str:
        return self._environment.get_template(template).render(**context)
