import lexitree

pipe = lexitree.load("sentiment")
document = pipe("Friendly staff, but the room was dirty and noisy. Still, the breakfast was lovely.")
for sentence in document.sentences:
    print(f"{sentence.label} {sentence.probability:.2f}: {sentence.text}")
    for phrase in sentence.phrases:
        if 2 <= len(phrase.tokens) <= 4 and phrase.label != "neutral":
            print(f"  {phrase.label} {phrase.probability:.2f}: {phrase.text} (head word: {phrase.head})")
