"""app/process/gunicorn_worker.py uses what gunicorn does not document, in the form of one version."""

import inspect
from importlib.metadata import version

from gunicorn.workers.gthread import TConn, ThreadWorker


def test_the_worker_was_read_against_the_installed_gunicorn() -> None:
    """After a change of version: compare gunicorn/workers/gthread.py and http/ with the worker, then change this."""
    assert version("gunicorn") == "27.0.1"


def test_connections_are_closed_where_the_worker_expects_it() -> None:
    """The worker reads callers off in its threads, since these calls block the thread that accepts connections."""
    assert "conn.close(graceful=True)" in inspect.getsource(ThreadWorker.finish_request)
    assert "close_graceful" in inspect.getsource(TConn.close)
