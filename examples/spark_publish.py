"""`discreet publish --engine spark` for spark-submit, which wants a file:

spark-submit --master 'local[2]' examples/spark_publish.py events --secret activity=gambling --out published.parquet

Its exit code is the command's. What the command says on standard error, spark-submit puts on standard output, around
the report, which speaks of the truth: keep both to yourself.
"""

import sys

from discreet.cli import main

if __name__ == "__main__":
    sys.argv[1:1] = ["publish", "--engine", "spark"]
    main()
