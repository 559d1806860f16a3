select value
from metadata
where name = $1
