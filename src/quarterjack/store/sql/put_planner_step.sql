update planner_state
set last_look = $1
