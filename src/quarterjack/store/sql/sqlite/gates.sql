select *
from gates
where key in (select value from json_each($1))
