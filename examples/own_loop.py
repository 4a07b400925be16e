import torch

import lexitree

torch.manual_seed(1)
torch.set_num_threads(1)  # the matrices are small: on a CPU, more threads mostly wait for each other
corpus = lexitree.load_corpus("mini-questions")
words = lexitree.WordTable.random(lexitree.Vocabulary.from_trees(corpus.train), word_size=50)
config = lexitree.ModelConfig(labels=corpus.labels, word_size=50, hidden=40, supervision="root")
model = lexitree.TreeClassifier(config, words)
examples = model.prepare(corpus.train, training=True)

dense = [parameter for parameter in model.parameters() if parameter is not words.vectors]
optimizers = [torch.optim.Adam(dense, lr=3e-3), torch.optim.SparseAdam([words.vectors], lr=3e-3)]
for epoch in range(5):
    total = 0.0
    for first in range(0, len(examples), 25):
        batch = lexitree.batch_examples(examples[first : first + 25])  # a TreeBatch; .to("cuda") moves it
        loss = model.loss(batch)  # summed over the labelled nodes; model(batch) gives every node's scores
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        total += loss.item()
    print(f"epoch {epoch + 1}: loss {total / len(examples):.3f} a sentence")

print(f"test accuracy {lexitree.evaluate(model, model.prepare(corpus.test)).root.accuracy:.3f}")
