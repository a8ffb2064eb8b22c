"""Insight: compares the versions, labels and models of a prompt by the figures of their sessions, runs and replays."""
