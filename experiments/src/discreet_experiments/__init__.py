"""The papers' experiments on recorded days, and the parts that they share.

`people` turns data files into each person's days, `subjects` into a model, held-out days and secrets; `replay` releases
those days; `runs` does so for many people at once, and `cohort` for those of a folder; `figures` and `tables` hold what
came out. A paper's own files carry its name.
"""
