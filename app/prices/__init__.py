"""What model calls cost: prices, the names by which instrumentations call models, and who has a price for which."""
