-- The newest first, from the one before this.
select *
from audit
where id < $1
order by id desc
limit $2
