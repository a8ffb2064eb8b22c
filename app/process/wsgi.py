"""The web process: `gunicorn -c config/gunicorn.py app.process.wsgi:application`."""

from app.process.application import build_app
from app.process.bootstrap import bootstrap, freeze_gc, start

application = build_app(bootstrap(start("web")))
freeze_gc()
