"""Everything that is kept in Redis, and the clients that connect to it."""
