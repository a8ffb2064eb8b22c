"""A worker process: `dramatiq app.worker:broker --queues runs`."""

import dramatiq

from app.bootstrap import bootstrap
from app.startup import settle, start

container = bootstrap(start("worker"))
broker = container.broker
dramatiq.set_broker(broker)
settle()
