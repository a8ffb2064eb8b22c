"""A worker process: `dramatiq app.worker:broker --queues runs`."""

import dramatiq

from app.bootstrap import bootstrap
from config import logging
from config.settings import Settings

settings = Settings.load()
logging.configure(settings)
container = bootstrap(settings)
broker = container.broker
dramatiq.set_broker(broker)
