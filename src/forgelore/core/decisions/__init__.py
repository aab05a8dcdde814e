"""Decisions of a project: how they are recognised in what people wrote, cited, and related to each other."""
