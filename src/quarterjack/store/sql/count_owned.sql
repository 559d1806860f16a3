select count(*)
from schedules
where deleted_at is null and owner = $1 and origin = 'declaration'
