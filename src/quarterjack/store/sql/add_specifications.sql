insert into specifications
values ($1, $2, $3, $4, $5, $6)
