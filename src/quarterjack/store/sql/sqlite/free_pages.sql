-- How many pages hold nothing, and how many there are.
select freelist_count, page_count from pragma_freelist_count, pragma_page_count
