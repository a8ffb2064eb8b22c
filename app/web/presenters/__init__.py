"""What the services give, in the shape that a template shows: one file per page, no framework, no queries."""
