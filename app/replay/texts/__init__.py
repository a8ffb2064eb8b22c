"""The values in texts, such as amounts, dates, codes and names: evidence for a judge, and what `facts` compares.

- A *value* has a kind, a form that is equal for all spellings of it, and the spelling in the text (`values.py`).
- The *sources* of a text are what its turn can draw on: the instruction, the messages, and the calls (`sources.py`).
- Values of a recorded text that calls of the turn have, too, are *bound*: a new text has to have them. One that it
  lacks is *lost*; a value of it that neither the recorded text nor a source has is *invented* (`facts.py`).
"""
