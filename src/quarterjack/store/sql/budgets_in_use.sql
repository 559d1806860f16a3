-- What is rationed for all planners together; the others wait.
select last_look, outage, pace, agents
from planner_state
