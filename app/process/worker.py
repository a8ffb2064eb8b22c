"""A worker process: `dramatiq app.process.worker:broker --queues runs`."""

import dramatiq

from app.process.bootstrap import bootstrap, freeze_gc, start

container = bootstrap(start("worker"))
broker = container.broker
dramatiq.set_broker(broker)
freeze_gc()
