"""Scores of sessions, turns, steps and runs, and online checks, which score a share of the recorded turns."""
