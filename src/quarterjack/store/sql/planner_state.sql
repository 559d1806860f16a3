-- What all planners share; one row.
select last_look, outage, pace, agents
from planner_state
