-- Requires a recovery, unless it is required already. Nothing is sent from now on; see may_advance.sql.
CREATE OR REPLACE FUNCTION require_recovery(moment timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE recovery SET required_since = moment WHERE id = 1 AND required_since IS NULL;
  IF FOUND THEN
    PERFORM resync_open_refunds();
  END IF;
END
$$;
