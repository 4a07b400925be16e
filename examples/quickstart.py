import lexitree

corpus = lexitree.load_corpus("mini-reviews")
training = lexitree.TrainingConfig(epochs=10, batch_size=10)
recipe = lexitree.Recipe(corpus="mini-reviews", training=training)
result = lexitree.train(recipe, "runs/quickstart")
print(f"test root accuracy {result.test.root.accuracy:.3f}")

predictor = lexitree.load("runs/quickstart/model")
tree = lexitree.tree_from_brackets("(_ (_ (_ The) (_ film)) (_ (_ (_ is) (_ n't)) (_ good)))")
prediction = predictor.predict(tree)
print(prediction.label, round(prediction.probability, 2), prediction.head())
print("\n".join(prediction.draw()))
