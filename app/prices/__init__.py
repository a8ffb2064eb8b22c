"""The costs of model calls: prices, the names by which instrumentations call models, and who has a price for which."""
