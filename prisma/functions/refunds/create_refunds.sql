-- Creates refunds, each completely or not at all: replays the idempotency key, or reserves the amount and inserts the refund,
-- its work and its first events. Concurrent requests share a call, so an item does not wait for another session: when a row it
-- needs is locked, the outcome is 'locked' and the caller repeats.
--
-- items: a JSON array of objects with the columns named in the SELECT below.
--   status            'processing', or 'pending' for a refund that awaits approval
--   detail            of the event refund.created: what was decided (shared/policies/decision.ts)
--   approval_*        the event refund.approval_required, for a pending refund alone
--   transaction_id    any id of the payment
--   payment           the facts just read from the processor (see hold_payment.sql), '{}' when it was unreachable, null when the
--                     id is stored
--   bounds            within which the decision holds, see exceeded_bound.sql; null when concurrent refunds cannot change it
--   hold_seconds      how long the refund is held before it is sent, after it is created or approved; null for not at all
--   is_remaining      true when the amount has to be all that is left of the payment
--   options           what goes with every attempt; null for nothing
--   store_until       the last time at which it may be stored; null for none
--   is_repeated       true when the outcome of an earlier call with this id is unknown
--
-- outcome, one row per item:
--   created           the refund is stored
--   replayed          an earlier request with this key and the same content created this refund
--   reused            the key created or cancelled another refund
--   refused           the payment does not allow it; payment holds its current row
--   limited           the decision no longer holds, as when a concurrent refund used up a limit, or another amount is left of the
--                     payment: decide again
--   unread            the stored payment has to be read from the processor first: read it and decide again
--   late              it is after store_until
--   locked            nothing was done; call again
CREATE OR REPLACE FUNCTION create_refunds(items jsonb)
RETURNS TABLE (item int, outcome text, refund json, payment json)
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
DECLARE
  moment timestamptz := service_time();
  asked record;
  paid payment;
  made refund;
  behind text;
  -- Their work and events follow together, after the last of them.
  created refund[] := '{}';
BEGIN
  PERFORM announce_events();
  FOR asked IN
    SELECT each.ordinality::int - 1 AS item, a.*
    FROM jsonb_array_elements(items) WITH ORDINALITY AS each(value, ordinality)
    CROSS JOIN LATERAL jsonb_to_record(each.value) AS a(
      id text, organization_id text, environment environment, account_id text, processor text, is_connected boolean,
      transaction_id text, amount bigint,
      currency text, reason refund_reason, metadata jsonb, initiated_by initiated_by, api_key_id text, actor text,
      status refund_status, event_id text, approval_event_id text, approval_policy text, audit_id text,
      idempotency_key text, fingerprint bytea, payment jsonb, bounds jsonb, hold_seconds int, is_remaining boolean,
      store_until timestamptz, is_repeated boolean, options jsonb)
    ORDER BY each.ordinality
  LOOP
    item := asked.item;
    refund := NULL;
    payment := NULL;

    made := NULL;
    IF asked.idempotency_key IS NOT NULL THEN
      IF NOT pg_try_advisory_xact_lock(hashtextextended(
        concat_ws('/', 'key', asked.organization_id, asked.environment, asked.idempotency_key), 0)) THEN
        outcome := 'locked'; RETURN NEXT; CONTINUE;
      END IF;
      SELECT * INTO made FROM refund AS r
      WHERE r.organization_id = asked.organization_id AND r.environment = asked.environment
        AND r.idempotency_key = asked.idempotency_key;
      IF made.id IS NULL AND EXISTS (
        SELECT FROM refund AS r
        WHERE r.organization_id = asked.organization_id AND r.environment = asked.environment
          AND r.cancel_key = asked.idempotency_key) THEN
        outcome := 'reused'; RETURN NEXT; CONTINUE;
      END IF;
    END IF;
    IF made.id IS NOT NULL THEN
      outcome := CASE
        WHEN made.id = asked.id THEN 'created'
        WHEN made.fingerprint = asked.fingerprint THEN 'replayed'
        -- Put back after a restore: what else was requested is not known any more.
        WHEN made.fingerprint IS NULL AND (asked.is_remaining OR made.amount = asked.amount) AND made.currency = asked.currency
          THEN 'replayed'
        ELSE 'reused' END;
      refund := to_json(made);
      RETURN NEXT; CONTINUE;
    END IF;

    IF moment > asked.store_until THEN
      outcome := 'late'; RETURN NEXT; CONTINUE;
    END IF;
    paid := hold_payment(asked.account_id, asked.transaction_id, asked.payment, moment);
    IF paid.account_id IS NULL THEN
      outcome := 'locked'; RETURN NEXT; CONTINUE;
    END IF;
    -- Only now: until the payment was held, the earlier call could commit.
    IF asked.is_repeated THEN
      SELECT * INTO made FROM refund AS r WHERE r.id = asked.id;
      IF FOUND THEN
        outcome := 'created'; refund := to_json(made); RETURN NEXT; CONTINUE;
      END IF;
    END IF;

    -- The request was decided with facts that the row does not have, as when another request stored it, or joined it, meanwhile.
    IF paid.id IS NOT NULL AND (paid.amount IS NULL OR paid.fetched_at IS NULL) AND asked.payment->>'amount' IS NOT NULL
      OR paid.amount IS NULL AND asked.bounds IS NOT NULL THEN
      outcome := 'unread'; RETURN NEXT; CONTINUE;
    END IF;
    -- Policies allowed this amount, so more or less than it has to be decided about again.
    IF asked.is_remaining AND asked.amount IS DISTINCT FROM paid.amount - paid.reserved - paid.refunded_outside THEN
      outcome := 'limited'; RETURN NEXT; CONTINUE;
    END IF;
    -- An unknown amount does not limit yet: the payment is read before anything is sent.
    IF paid.currency <> asked.currency OR paid.reserved + paid.refunded_outside + asked.amount > paid.amount THEN
      outcome := 'refused'; payment := to_json(paid); RETURN NEXT; CONTINUE;
    END IF;
    behind := requester_of(asked.actor);
    outcome := CASE WHEN asked.bounds IS NULL THEN NULL
      ELSE exceeded_bound(asked.bounds, paid, asked.amount, asked.currency, behind, asked.api_key_id, moment) END;
    IF outcome IS NOT NULL THEN
      RETURN NEXT; CONTINUE;
    END IF;

    IF paid.id IS NULL THEN
      paid.id := insert_payment(paid, payment_ids(asked.payment, asked.transaction_id));
    END IF;
    -- Reserves the amount as well (keep_reserved.sql).
    INSERT INTO refund (id, organization_id, transaction_id, amount, currency, reason, status, processor, metadata,
      initiated_by, created_at, updated_at, environment, account_id, is_connected, payment_id, requester, api_key_id,
      idempotency_key, fingerprint, options, held_until)
    VALUES (asked.id, asked.organization_id, asked.transaction_id, asked.amount, asked.currency, asked.reason, asked.status,
      asked.processor, asked.metadata, asked.initiated_by, moment, moment, asked.environment, asked.account_id,
      coalesce(asked.is_connected, false), paid.id, behind, asked.api_key_id, asked.idempotency_key, asked.fingerprint, asked.options,
      moment + asked.hold_seconds * interval '1 second')
    RETURNING * INTO made;
    created := created || made;
    outcome := 'created';
    refund := to_json(made);
    RETURN NEXT;
  END LOOP;

  INSERT INTO refund_work (refund_id, account_id, parent_id, organization_id, environment, processor, due_at, resync_requested_at)
  SELECT made.id, made.account_id, CASE WHEN made.is_connected THEN parent_of(made.account_id) END, made.organization_id,
    made.environment, made.processor, coalesce(made.held_until, moment), CASE WHEN made.is_connected AND may_be_lost(made) THEN moment END
  FROM unnest(created) AS made WHERE made.status = 'processing';

  INSERT INTO refund_event (id, refund_id, seq, type, actor, status, detail, created_at,
    organization_id, environment, position)
  SELECT event.id, event.refund_id, event.seq, event.type, event.actor, event.status, event.detail, moment,
    event.organization_id, event.environment, nextval('refund_event_position')
  FROM (
    SELECT e.id, made.id AS refund_id, e.seq, e.type, a.actor, made.status, e.detail, made.organization_id, made.environment
    FROM unnest(created) AS made
    JOIN jsonb_to_recordset(items) AS a(id text, actor text, event_id text, detail jsonb, approval_event_id text,
      approval_policy text) ON a.id = made.id
    CROSS JOIN LATERAL (VALUES
      (a.event_id, 1, 'refund.created', coalesce(a.detail, '{}')),
      (a.approval_event_id, 2, 'refund.approval_required', jsonb_build_object('policy', a.approval_policy))
    ) AS e(id, seq, type, detail)
    WHERE e.seq = 1 OR made.status = 'pending'
    -- Positions are drawn in this order.
    ORDER BY made.id, e.seq
  ) AS event;

  INSERT INTO audit_log (id, organization_id, actor, action, target, detail, created_at)
  SELECT a.audit_id, made.organization_id, a.actor, 'refund.created', made.id,
    jsonb_build_object('environment', made.environment, 'transactionId', made.transaction_id,
      'amount', made.amount, 'currency', made.currency), moment
  FROM unnest(created) AS made
  JOIN jsonb_to_recordset(items) AS a(id text, actor text, audit_id text) ON a.id = made.id
  WHERE a.audit_id IS NOT NULL;
END
$$;
