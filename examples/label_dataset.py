from pathlib import Path

import datasets

import lexitree

reviews = datasets.Dataset.from_csv(str(Path(__file__).with_name("reviews.csv")))
labeller = lexitree.Labeller("sentiment", column="comment")
features = datasets.Features.from_arrow_schema(labeller.schema(reviews.features.arrow_schema))
for row in reviews.map(labeller, batched=True, features=features):
    print(f"{row['label']} {row['score']:+.2f}: {row['comment']}")
