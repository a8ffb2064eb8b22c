"""Connections to MySQL and SQLite: engines, hosts, limits of waits, and transactions with their retries."""
