"""What is sent to webhooks: the bodies, their signatures, and the requests."""
