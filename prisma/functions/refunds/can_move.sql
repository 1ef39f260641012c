-- True for a move from one status to another that the state table in shared/refunds/model/states.ts has, which says what causes it. A
-- test compares the two.
CREATE OR REPLACE FUNCTION can_move(status_before refund_status, status_after refund_status) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT (status_before, status_after) IN (
    ('pending', 'processing'),
    ('pending', 'cancelled'),
    ('processing', 'processing'),
    ('processing', 'completed'),
    ('processing', 'failed'),
    ('processing', 'cancelled'),
    ('completed', 'failed'))
$$;
