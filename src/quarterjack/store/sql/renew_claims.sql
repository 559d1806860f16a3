-- The second condition on the instant of the claim is for the index; every lease ends after its claim.
update runs
set lease_until = $1
where state = 'running' and worker = $2 and started_at = $3 and lease_until > $3
