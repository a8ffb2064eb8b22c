"""The statistics of experiments: what repeated replays show, and which replays are needed next. Pure.

- A *trial* is one replay of a test case that has ended with a result. The *candidate* and the *baseline* are the two
  sides that an experiment compares; a *pair* is a trial of each with the same ordinal.
- Trials are looked at after each *round* of pairs (`rounds.py`). A test case is *open* while it needs more rounds.
- `regression.py` tests whether the candidate got worse in any test case, and `clearing.py` whether a test case excludes
  a drop. Both bet against a hypothesis, and the *wealth* of the bets is the evidence against it (`sequential.py`).
- `decision.py` has the entry point, `decide`; `sequential_test.py` adds the rounds one by one. `watching.py` and
  `drift.py` decide a *watch*, which compares the replays of one version over time.
"""
