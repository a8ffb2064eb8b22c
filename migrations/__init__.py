"""Schema migrations, for MySQL and SQLite alike."""
