-- Whoever writes is alone here.
select $1
