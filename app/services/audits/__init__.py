"""Audits of the gate: probes of a prompt, and what the gate decides on them."""
