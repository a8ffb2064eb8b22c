"""Passes a program's own requests on to vendors, and reads and continues their conversations in the vendor's JSON."""
