"""People, their sign-ins, API keys, projects and the audit log."""
