"""One file per page: read the request, call services, hand what they give to a presenter and a template."""
