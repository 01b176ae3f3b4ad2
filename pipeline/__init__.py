"""The data pipeline on Spark: session, collection, judging. Only here is pyspark imported."""
