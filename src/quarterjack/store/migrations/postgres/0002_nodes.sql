-- Which processes are there: each says so with every beat of its heart.
create table nodes (
    name text primary key,
    host text not null,
    pid bigint not null,
    plans boolean not null,
    works boolean not null,
    program text not null,
    zone_data text not null,
    declaration text not null,
    edition text not null,
    started_at bigint not null,
    seen_at bigint not null,
    ahead bigint not null
) with (fillfactor = 50);
