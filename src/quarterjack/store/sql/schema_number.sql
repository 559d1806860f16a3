select max(number) from migrations
