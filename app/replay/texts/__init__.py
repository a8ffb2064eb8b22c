"""The values in texts, such as amounts, dates, codes and names: evidence for a judge, and what `facts` compares.

- A *value* has a kind, a *form* that is equal for all its spellings, and its spelling in the text (`values.py`). Its
  *detail* is what some spellings leave out, such as the unit of a number or the year of a date.
- A text such as 03/04 has two *readings*. The one that is clear elsewhere in the turn is used (`sources.py`).
- A *form set* has the forms of many values; a value is looked up in it (`value_forms.py`).
- The *sources* of a text are what its turn may use: the instruction, the messages, and the calls (`sources.py`).
- A recorded value that also occurs in a call of the turn is *bound*: a new text must have it, or else it is *lost*. A
  value of the new text that neither the recorded text nor a source has is *invented* (`facts.py`).
"""
