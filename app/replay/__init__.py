"""Replays: plays a test case against a draft, and compares what the draft did with what was recorded. Pure.

- A *test case* (`case_types.py`) has turns with *steps*: recorded tool calls and answers, each with a *check*.
- A *draft* is what is played: a prompt or a program. What it does in a turn is *produced* (`result_types.py`).
- The *recording* answers the calls of the draft (`recording.py`). A call that it has no answer to is *unanswered*.
- Recorded and produced steps are *paired* (`pairing.py`); a produced step without a recorded one is *extra*.
- A *rule* compares a step without a model: an equal step passes, and one that surely differs fails (`checks.py`,
  `answers.py`, `arguments.py`). Rules leave the other steps *open*, with a *note* how they differ (`open_steps.py`).
- A *judge* is the model that decides open steps. Where it can't decide, a step *needs review* by a person. An *earlier
  verdict* on equal texts is used again.
- A judge *excuses* a read with other arguments if the recorded result answers it (`excuses.py`).
- The *form* of a text, such as a command or a statement of SQL, is equal for texts that mean the same.
- The *effect* of a tool is to read, to write, or *by_call*: to be decided for each call (`effects.py`,
  `call_effects.py`). A *violation* is a call that a draft must not make (`violations.py`).
- A *fault* is an error that a test case gives in place of a recorded result; a *guard* checks what the draft does
  then (`faults.py`). An *excerpt* is one turn of a test case, as a test case (`excerpts.py`).
- All comparisons of a replay spend from one *budget* of steps, so that none lasts too long (`text_reader.py`).

`engine.py` has the entry point, `replay`, and `turn_player.py` plays a turn. What a replay reaches is in `ports.py`.
"""
