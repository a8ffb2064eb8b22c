"""Compares Reprise with gateways and with a column store: `make bench-peers`."""
