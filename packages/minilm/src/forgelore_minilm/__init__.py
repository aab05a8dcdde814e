"""all-MiniLM-L6-v2 for forgelore: a transformer's vectors on this machine, for `--embedder minilm`."""

from forgelore_minilm.model import MiniLM

__all__ = ["MiniLM"]
