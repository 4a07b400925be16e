import lexitree

with lexitree.Client("http://localhost:8000") as client:
    document = client.label("Not a bad film, but nobody will remember it.", include=["phrases", "heads"])
    print(document["label"], document["probability"])

    # Any number of texts, a few at a time in memory; when the service is full, they are sent again.
    with open("reviews.txt", encoding="utf-8") as reviews:
        for answer in client.stream(reviews):
            print(answer["label"])
