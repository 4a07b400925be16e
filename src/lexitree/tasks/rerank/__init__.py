"""Candidate trees of any parser in, the best of them out, chosen by a tree LSTM that reads whole trees."""
