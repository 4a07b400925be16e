"""What a model says of sentences in, HTML out: a page that explains it, and a compact view for notebooks."""
