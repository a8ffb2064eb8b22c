"""Calculations for the pages, without framework, queries or clock."""
