"""Guard maps: which sentences of a prompt's text are guarded by its test cases.

A *mutant* is the text with one change: without a sentence, or with a sentence that asks for something else. An
*operator* makes mutants of one kind. The test cases are replayed with each mutant, and a sentence is *guarded* if they
fail for one of its mutants, *unguarded* if they pass for all, and *inert* if the answers stay the same without it.

`sentences.py` splits the text, `mutants.py` and `proposals.py` make mutants, and `decision.py` decides a sentence.
"""
