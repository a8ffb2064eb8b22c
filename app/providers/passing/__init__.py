"""Passes a program's own requests on to vendors, and reads and continues their conversations in the vendor's JSON.

A program under test calls its models at Reprise instead of at their vendors. There is one `PassingWire` for each chat
API that programs use: `wire.py` has the base class and documents its methods.
"""
