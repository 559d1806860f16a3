-- Which processes are there. A file is used on one host, so whether a process lives is asked of that.
create table nodes (
    name text primary key,
    host text not null,
    pid integer not null,
    plans integer not null,
    works integer not null,
    program text not null,
    zone_data text not null,
    declaration text not null,
    edition text not null,
    started_at integer not null,
    seen_at integer not null,
    ahead integer not null
) strict;
