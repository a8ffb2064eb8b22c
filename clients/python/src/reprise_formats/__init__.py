"""What the server and its client write alike: placeholders, splits, XML, figures, and reports of experiments."""
