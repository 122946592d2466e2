"""Benchmarks as commands that anyone can run, built on the public API."""
