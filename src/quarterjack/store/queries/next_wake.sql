select min(wake_at)
from schedules
where wake_at is not null
