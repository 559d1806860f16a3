-- Few pages at a time: each may move another one, and other processes wait meanwhile.
pragma incremental_vacuum(100)
