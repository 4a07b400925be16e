"""What can be trained: classifiers, parsers and rerankers."""
