"""The web process: `gunicorn -c config/gunicorn.py app.wsgi:application`."""

from app.api.app import build_app
from app.bootstrap import bootstrap
from app.startup import settle, start

application = build_app(bootstrap(start("web")))
settle()
