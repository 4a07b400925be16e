"""Training and use of rerankers, which choose among the candidate trees of a parser."""
