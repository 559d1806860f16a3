"""What people and programs can observe. `events` is the one list of what can happen; a store writes
events in the transaction of the decision they report. `logs` configures logging.
"""
