-- Lets workers send again. Events that were seen before count no more: another generation begins, `<id of the installation>/<time>`. As
-- text it sorts after the earlier one, also when the clock was ahead then. What was accepted or approved since the restore may have been
-- sent before it, so it is looked up first. The caller has requested that for what was open before, so the lock is short.
--
-- began: before the first account was read. Runs of before prove nothing about this restore.
CREATE OR REPLACE FUNCTION end_recovery(began timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  time_of_end text := to_char(service_time() AT TIME ZONE 'UTC', '/YYYY-MM-DD"T"HH24:MI:SS.MS');
BEGIN
  -- Work that another session is adding is waited for, and none is added until this commits.
  LOCK TABLE refund_work IN SHARE ROW EXCLUSIVE MODE;
  PERFORM resync_open_refunds(NULL);
  UPDATE recovery SET required_since = NULL, began_at = began, ended_at = service_time(),
    generation = greatest(split_part(generation, '/', 1) || time_of_end, generation || '+' COLLATE "C") WHERE id = 1;
END
$$;
