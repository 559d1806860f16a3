-- The number of free pages, and of all pages.
select freelist_count, page_count from pragma_freelist_count, pragma_page_count
