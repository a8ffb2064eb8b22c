"""The Dramatiq actors, a module for each noun, and the deliveries that send their messages.

Actors are declared on a broker that is passed in, so that each process, and each test, has its own. Each actor calls
one service.
"""
