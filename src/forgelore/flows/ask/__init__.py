"""Answering questions: the loop of a model and its tools over the store, and the best passages without a model."""
