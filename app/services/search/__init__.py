"""The text search over stored turns: keeps its index, answers queries, and reads lists that no index serves.

`app/search` has the words, the queries and the form of the index.
"""
