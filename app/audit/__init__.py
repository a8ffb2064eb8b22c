"""Audits of the gate: whether it notices errors that are planted in recorded steps. Pure.

- A *probe* is a recorded step in another form: an answer with another text, or a call with other arguments.
- An *operator* is a function that makes probes. It changes one part of a text (`changes.py`) or of arguments, or
  returns None if it finds nothing to change.
- A *planted* probe has an error that the gate should notice (`planted.py`). A *harmless* one differs in form only, and
  should pass (`harmless.py`). `arguments.py` has both kinds of operators for the arguments of calls.
- A `Draw` chooses among operators and values by a hash of names, so that an audit has the same probes each time.

`probes.py` draws the probes of a prompt, `playing.py` plays one through the gate, and `figures.py` sums up what the
gate noticed.
"""
