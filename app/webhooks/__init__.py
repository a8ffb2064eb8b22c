"""The requests to webhooks: their bodies, their signatures, and the client that sends them."""
