"""The web process: `gunicorn -c config/gunicorn.py app.wsgi:application`."""

from app.api.app import build_app
from app.bootstrap import bootstrap
from config import logging
from config.settings import Settings

settings = Settings.load()
logging.configure(settings)
application = build_app(bootstrap(settings))
