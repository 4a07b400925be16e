"""The words of sentences in, their constituency trees out: a parser of our own, and adapters for others."""
