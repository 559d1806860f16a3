update planning
set last_look = $1
