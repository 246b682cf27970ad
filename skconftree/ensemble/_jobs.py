"""How the work on the trees of a forest is dealt out to threads."""

TASKS_PER_JOB = 4  # batches of trees: the last ones end at about the same time
