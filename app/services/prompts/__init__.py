"""Prompts, their drafts and versions."""
