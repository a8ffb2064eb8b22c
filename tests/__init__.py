"""Packages, so that fixtures of the scope "package" end with the last test of their folder."""
