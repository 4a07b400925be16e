import lexitree

pipe = lexitree.load("sentiment")
document = pipe("The acting is great, but the story goes nowhere. Still, I laughed a lot.")
for sentence in document.sentences:
    print(f"{sentence.label} {sentence.probability:.2f}: {sentence.text}")
    for phrase in sentence.phrases:
        if 2 <= len(phrase.tokens) <= 4 and phrase.label != "neutral":
            print(f"  {phrase.label} {phrase.probability:.2f}: {phrase.text} (head word: {phrase.head})")
