"""Builds sessions from spans: what people read, and the facts and figures that ingest stores. Pure.

- A *trace* is all spans with one trace id for one prompt. It is one *turn*: the user's message, and the steps up to the
  answer. A conversation that was recorded as one trace is divided into several turns (`later_questions.py`).
- The *steps* of a turn are its tool calls and answers. `build.py` builds turns and sessions from stored spans.
- The *facts* of a turn (`facts.py`) are what ingest stores of it. Facts of several batches are merged in any order. The
  *outline* is the part of the facts that a list of turns shows, and the *opening* is the first text of a turn.
- A *copy* is a second span that records the same call, for example of another library (`copies.py`). It is not counted.
- A turn with many spans is read in *pieces* (`pieces.py`).
"""
