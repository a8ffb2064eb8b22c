"""Views, one file per group of pages. They read the visit, call services and choose a template."""
