-- Newest first, before this id.
select *
from audit
where id < $1
order by id desc
limit $2
