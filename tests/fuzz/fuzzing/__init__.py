"""Fuzzing: the public entry points under inputs that nobody would write.

What a file holds is mutated byte by byte, word by word and node by node, guided by the branches of the readers that it
reaches (`guided`); the arguments of ``fit``, ``predict`` and ``release_sketch`` are generated (`calls`). Whatever the
input, an entry point returns a result that passes its checks or raises a documented error, soon, which quotes no cell;
a refused call has drawn no random bit.

    PYTHONPATH=tests/fuzz python -m fuzzing

runs all of it, measures the branch coverage of the readers (`branches`), and shows that a crash planted in a copy of a
reader is found (`planted`).
"""
