-- What all planners share, in one row.
select last_look, outage, pace, agents
from planner_state
