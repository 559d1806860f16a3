-- Locked, so that planners take from the shared budgets one after the other.
select last_look, outage, pace, agents
from planner_state
