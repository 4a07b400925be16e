"""Words and word vectors: vocabularies with the paper's look-up rule, and vector files read as a stream."""
