"""Programs and sync tasks, each in processes of its own that end with their worker, and with
everything that they started.

Read `supervisor` first, the program that starts and ends them; `supervised` talks to it. Commands
are one process for each attempt. Sync tasks share warm processes: `pool` keeps them and hands out
calls, `task_program` is how one starts, `task_process` what it does, `importing` how it finds the
user's functions again, and `surroundings` what it puts back after each call.
"""
