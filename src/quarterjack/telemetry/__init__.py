"""What people and programs are told. `events` is the one list of what can happen; a store writes
them in the transaction of the decision they tell of. `logs` is how a process speaks."""
