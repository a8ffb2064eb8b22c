"""The web process: `gunicorn -c python:config.gunicorn app.process.wsgi:application`."""

import gc

gc.disable()  # until `freeze_gc`

from app.process.application import build_app  # noqa: E402
from app.process.bootstrap import bootstrap, freeze_gc, start  # noqa: E402

application = build_app(bootstrap(start("web")))
freeze_gc()
