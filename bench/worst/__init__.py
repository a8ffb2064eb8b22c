"""The dearest requests that the limits allow, to every route: `python -m bench.worst`."""
