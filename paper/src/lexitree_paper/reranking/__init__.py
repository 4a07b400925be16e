"""The reranking experiment."""
