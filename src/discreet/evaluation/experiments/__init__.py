"""The papers' experiments on recorded days: one file a paper, and the parts that they share.

`people` turns data files into each person's days, `subjects` into a model, held-out days and secrets; `replay` releases
those days; `runs` does so for many people at once; `tables` writes what came out.
"""
