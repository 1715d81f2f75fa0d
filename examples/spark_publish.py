"""`discreet publish --engine spark` for spark-submit, which wants a file:

spark-submit --master 'local[2]' examples/spark_publish.py events --secret activity=gambling --out published.parquet
"""

import sys

from discreet.cli import main

if __name__ == "__main__":
    sys.argv[1:1] = ["publish", "--engine", "spark"]
    main()
