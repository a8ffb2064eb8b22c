"""One file per group of pages: read the visit, call services, choose a template."""
