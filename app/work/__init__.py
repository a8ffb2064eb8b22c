"""Work rows: rows of a table that workers claim, keep alive and end; the clock sweeps abandoned ones."""
