-- A little at a time: each of them may move another page, and others wait meanwhile.
pragma incremental_vacuum(100)
