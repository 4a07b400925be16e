from pathlib import Path

import ray

import lexitree

reviews = ray.data.read_csv(str(Path(__file__).with_name("reviews.csv")))
labelled = reviews.map_batches(
    lexitree.Labeller,
    fn_constructor_kwargs={"model": "sentiment", "column": "comment"},
    batch_format="pyarrow",
    compute=ray.data.ActorPoolStrategy(min_size=1, max_size=8),  # reading needs a core, too
)
for row in labelled.iter_rows():
    print(f"{row['label']} {row['score']:+.2f}: {row['comment']}")
ray.shutdown()
