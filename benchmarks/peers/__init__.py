"""Other tree LSTM libraries under the same load: their environments, workers and protocol."""
