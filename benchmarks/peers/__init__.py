"""Other tree LSTMs under the same load: their environments, their workers, and the words they are spoken to with."""
