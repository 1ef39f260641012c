-- Requires a recovery, unless it is required already. Nothing is sent from now on; see may_advance.sql. It writes one row, however many
-- refunds are open, because workers call it whenever they claim.
CREATE OR REPLACE FUNCTION require_recovery(moment timestamptz) RETURNS void
LANGUAGE sql AS $$
  UPDATE recovery SET required_since = moment WHERE id = 1 AND required_since IS NULL
$$;
