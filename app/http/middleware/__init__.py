"""Falcon middleware: what is done for every request, one concern a file."""
