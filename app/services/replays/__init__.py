"""Test cases and their replays."""
