"""A worker process: `dramatiq app.process.worker:broker --queues runs`."""

import gc

import dramatiq

gc.disable()  # until `freeze_gc`

from app.process.bootstrap import bootstrap, freeze_gc, start  # noqa: E402

container = bootstrap(start("worker"))
broker = container.broker
dramatiq.set_broker(broker)
freeze_gc()
