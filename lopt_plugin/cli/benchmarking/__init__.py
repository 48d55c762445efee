"""Measurement of speed, for `lopt bench` and for the repository's benchmarks: engines, each in a fresh process."""
