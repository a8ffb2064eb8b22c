"""The costs of model calls: prices, price lists, and the names by which instrumentations call models."""
