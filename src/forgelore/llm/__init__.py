"""Language models behind any OpenAI-compatible server: Ollama, llama.cpp, vLLM, LM Studio, hosted ones."""
