"""Text as people write it in, sentences and tokens with their places in it out."""
