"""Prompts: what language models are asked, with text of strangers fenced as data."""
