"""Replays: plays a test case against a draft, and compares what the draft did with what was recorded. Pure.

- A *test case* (`types.py`) has turns, each with *steps*: the recorded tool calls and answers, with a *check* each.
- A *draft* is what is played: a prompt or a program. What it does in a turn is *produced* (`result_types.py`).
- The *recording* answers the calls of the draft (`recording.py`). A call that it has no answer to is *unanswered*.
- Recorded and produced steps are *paired* (`pairing.py`); a produced step without a recorded one is *extra*.
- A *rule* decides a step without a reader: a step that is equal passes, and one that surely differs fails (`checks.py`,
  `answers.py`, `arguments.py`). Rules leave the other steps *open* for the judge, with a *note* how they differ.
- The *form* of a text, such as a command or a statement of SQL, is equal for texts that mean the same.
- A *reader* is a judge or a person. A judge *excuses* a read with other arguments if the recorded result answers it.
- The *effect* of a tool or a call is to read or to write (`effects.py`, `call_effects.py`). A *violation* is a call
  that a draft must not make (`violations.py`).
- All comparisons of a replay spend from one budget of steps (`text_reader.py`).

`engine.py` has the entry point, `replay`, and `turn_player.py` plays a turn. What a replay reaches is in `ports.py`.
"""
