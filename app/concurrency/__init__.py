"""Threads that share something: calls, caches, places, and the time that a request may wait."""
