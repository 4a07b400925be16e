import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import lexitree
from lexitree.integrations.spark_engine import label_frame

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # Spark's workers run this Python, too
spark = SparkSession.builder.master("local[2]").getOrCreate()
reviews = spark.read.csv(str(Path(__file__).with_name("reviews.csv")), header=True)
for row in label_frame(reviews, lexitree.Labeller("sentiment", column="comment")).collect():
    print(f"{row.label} {row.score:+.2f}: {row.comment}")
spark.stop()
