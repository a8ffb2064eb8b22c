"""Reports of an experiment from its JSON, and the search for the version that broke a test case. Pure."""
