"""People followed from Kafka to Kafka, for spark-submit; a reading is {"user": ..., "time": "...Z", "context": ...}.

spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.0 --conf spark.sql.shuffle.partitions=16 \
    examples/spark_stream.py broker:9092 readings releases /trusted/models /trusted/policy.toml /trusted/keys \
    hdfs:///trusted/checkpoint
"""

import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  as everybody who writes Spark calls it

from discreet.mechanisms.named import Spec
from discreet.publish.day_keys import DayKeys
from discreet.publish.following import Following
from discreet.publish.spark_stream import Eraser, followed


def main(broker: str, source: str, sink: str, models: str, policy: str, keys: str, checkpoint: str) -> None:
    spark = SparkSession.builder.appName("discreet stream").getOrCreate()
    following = Following(Path(models), Path(policy), Path(keys), Spec("adaptive"), carry=4 * 3600, margin=2)
    DayKeys.kept_in(following.keys)
    messages = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", broker)
        .option("subscribe", source)
        .option("startingOffsets", "latest")  # of the first start; later ones go on from the checkpoint
        .option("failOnDataLoss", "true")  # a batch that cannot be read again must not be guessed
        .option("maxOffsetsPerTrigger", 100_000)
        .load()
    )
    fields = F.from_json(F.col("value").cast("string"), "user string, time timestamp, context string")
    readings = messages.select(fields.alias("read")).select(
        F.col("read.user").alias("person"), F.col("read.time").alias("time"), F.col("read.context").alias("context")
    )
    releases = followed(readings, following)
    query = (
        releases.select(
            F.to_json(F.struct("person", "date", "slot")).alias("key"),  # what a repeated message is known by
            F.to_json(F.struct(*releases.columns)).alias("value"),
        )
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", broker)
        .option("topic", sink)
        .option("checkpointLocation", checkpoint)
        .trigger(processingTime="2 seconds")
        .start()
    )
    eraser = Eraser(following)
    while not query.awaitTermination(10):
        eraser.look(query)


if __name__ == "__main__":
    main(*sys.argv[1:])
