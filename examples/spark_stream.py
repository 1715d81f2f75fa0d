"""People followed from Kafka to Kafka, for spark-submit; a reading is {"user": ..., "time": "...Z", "context": ...}.

spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.0 --conf spark.sql.shuffle.partitions=16 \
    examples/spark_stream.py broker:9092 readings releases /trusted/models /trusted/policy.toml /trusted/keys \
    hdfs:///trusted/checkpoint

Keys and checkpoint belong together: equal bits under other beliefs would tell more than is promised. So the folder of
keys says which checkpoint it is of, and another one is refused, as is one that is gone while its keys are there.
What is left to the operator:

- one query at a time on a checkpoint, for two would each decide the slots of one batch;
- the folder of keys on a disk that driver and workers see under one name, as one owner (mode 0700), without copies;
- never an older copy of checkpoint or keys in the place of the last; begin a new stream, with new folders, instead;
- whoever reads the topic takes each message's key (person, date, slot) once: Kafka may have it twice, the same.
"""

import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  as everybody who writes Spark calls it

from discreet.errors import DiscreetError
from discreet.mechanisms.named import Spec
from discreet.publish.stream.day_keys import DayKeys
from discreet.publish.stream.people import Following
from discreet.publish.stream.spark import Eraser, followed


def tie(spark: SparkSession, keys: Path, checkpoint: str) -> None:
    """Refuse keys of another checkpoint, or of one that was begun anew; it may be anywhere that Hadoop reads."""
    of_keys = keys / "checkpoint"
    drawn_from = any(one != of_keys for one in keys.iterdir())
    offsets = spark._jvm.org.apache.hadoop.fs.Path(checkpoint, "offsets")
    begun = offsets.getFileSystem(spark._jsc.hadoopConfiguration()).exists(offsets)
    if (drawn_from or begun) and not (begun and of_keys.exists() and of_keys.read_text() == checkpoint):
        raise DiscreetError(
            f"{keys}: these are not the keys of the stream of {checkpoint}; give its own folder, or new ones for both"
        )
    of_keys.write_text(checkpoint)


def main(broker: str, source: str, sink: str, models: str, policy: str, keys: str, checkpoint: str) -> None:
    spark = SparkSession.builder.appName("discreet stream").getOrCreate()
    following = Following(Path(models), Path(policy), Path(keys), Spec("adaptive"), carry=4 * 3600, margin=2)
    DayKeys.kept_in(following.keys)
    tie(spark, following.keys, checkpoint)
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
