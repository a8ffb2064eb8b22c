"""Builds the objects of a process: its services, from the backends that they share, and the container of all."""
