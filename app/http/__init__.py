"""What the API and the pages both need of HTTP: bodies, errors, the route table, and what is done for every request."""
