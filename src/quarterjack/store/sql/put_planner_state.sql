update planner_state
set last_look = $1, outage = $2, pace = $3, agents = $4
