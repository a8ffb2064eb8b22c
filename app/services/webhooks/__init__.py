"""Webhooks of projects and their deliveries."""
