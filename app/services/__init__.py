"""Use cases: the only place that opens a transaction."""
