"""The log of a prompt: its runs and its sessions in one list, with filters and a text search."""
