"""The text search: how texts become words, how queries match them, and the form of the index. Pure.

- Texts are split into *words* (`words.py`), which are compared without regard to case. A *query* (`query.py`) consists
  of *terms*: words, phrases, beginnings of words, and terms that must not occur.
- The index has *blocks* of 64 turns with neighbouring ids. The words of a block are split into *buckets* by their first
  letters, so that a search reads only the buckets of its words (`blocks.py`).
- A *set of turns* within a block is an integer, in which bit `n` is the turn at index `n`.
"""
