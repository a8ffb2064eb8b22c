"""Set-up, readiness and figures of the instance."""
