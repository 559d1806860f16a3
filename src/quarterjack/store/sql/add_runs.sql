-- A slot that was planned before violates runs_by_slot: then the whole plan is undone.
insert into runs
values (
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
    $21, $22, $23, $24, $25, $26
)
