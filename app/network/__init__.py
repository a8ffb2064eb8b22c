"""Addresses: which ones may be called, who a request comes from, and requests with a limit of their whole time."""
