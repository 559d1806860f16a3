select id, key
from schedules
where id in (select value from json_each($1))
