-- True for a refund of a connected account that may have been made before the last recovery: the payment had been charged then, and there is
-- no good run of that recovery for the account, which had no access or was first used later. A request that is repeated gets the lost
-- refund's digest, so a lookup finds that one. In PL/pgSQL, so that statements about other refunds do not lock what this one reads.
CREATE OR REPLACE FUNCTION may_be_lost(r refund) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (
    SELECT FROM recovery AS last JOIN payment AS p ON p.id = r.payment_id
    WHERE last.id = 1 AND last.ended_at IS NOT NULL AND coalesce(p.charged_at < last.ended_at, true)
      AND NOT EXISTS (
        SELECT FROM reconciliation_run AS run
        WHERE run.account_id = r.account_id AND run.started_at >= last.began_at
          AND run.puts_back AND run.finished_at IS NOT NULL AND run.failure IS NULL));
END
$$;
