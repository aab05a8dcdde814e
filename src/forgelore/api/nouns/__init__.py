"""What a history is made of: `history.sync`, `history.dedupe` and the others, a module each.

A method is a few lines, and imports the job that it hands over to: a command that only lists pays for nothing else.
"""
