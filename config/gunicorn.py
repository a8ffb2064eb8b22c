"""gunicorn's configuration, also the embedded server's: `gunicorn -c python:config.gunicorn …`.

The application is loaded in each worker process, because database connections must not be shared across a fork.
Chunked bodies arrive with `wsgi.input_terminated`.
"""

from pathlib import Path

from config.settings import Settings

_settings = Settings.load_or_exit()
_shared_memory = Path("/dev/shm")  # noqa: S108 - a RAM disk: the heartbeat file must not wait for a busy disk

bind = f"{_settings.host}:{_settings.port}"
worker_class = "app.process.gunicorn_worker.Worker"
workers = _settings.web_processes
threads = _settings.web_threads
# Connections beyond the threads are kept alive, idle, in the worker's selector.
worker_connections = _settings.web_threads + 1000
preload_app = False
keepalive = 30
# A stopping process finishes its requests; a run continues in its worker after its caller was cut off.
graceful_timeout = 30
# Only for a main loop that hangs; it does not limit the threads.
timeout = 120
backlog = 4096
worker_tmp_dir = str(_shared_memory) if _shared_memory.is_dir() else None
control_socket_disable = True
# The application decides which proxies it trusts, by REPRISE_TRUSTED_PROXIES.
forwarded_allow_ips = ""
# No header may set SCRIPT_NAME or PATH_INFO, and so change the requested path.
forwarder_headers = ""
accesslog = None
logger_class = "config.gunicorn_logging.StructuredLogger"
proc_name = "reprise"
