-- The next schedule would get an id that is taken.
select id
from schedules
where id > (select value from counters where name = 'schedules')
limit $1
