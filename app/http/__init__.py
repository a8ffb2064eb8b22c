"""HTTP for the API and the pages: bodies, errors, the route table, and the middleware of every request."""
