"""The schedules of the shop."""

from collections.abc import Iterator

from django.conf import settings
from django.db import close_old_connections, connection

from quarterjack import Context, Depends, Quarterjack

jobs = Quarterjack(settings.QUARTERJACK_DATABASE, name="shop", timezone="UTC")


def database() -> Iterator[None]:
    """Django keeps a database connection for each thread: return it in good order."""
    close_old_connections()
    yield
    close_old_connections()


@jobs.every("1s", first_run="now")
def count_orders(context: Context, _database: None = Depends(database)) -> int:
    with connection.cursor() as cursor:
        cursor.execute("select 40 + 2")
        (count,) = cursor.fetchone()
    print(f"count_orders {context.run_id}: {count}", flush=True)
    return int(count)
