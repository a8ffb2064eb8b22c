"""Calculations for the pages. They use no framework, queries or clock."""
