"""What answers look like, as schemas for the API's document alone: a test holds every answer to them."""
