delete from nodes
where name = $1
