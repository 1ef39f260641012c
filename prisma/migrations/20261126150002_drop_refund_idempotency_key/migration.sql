-- allowed: refund_by_idempotency_key holds the same to be unique, and serves the lookups of the version before.
DROP INDEX CONCURRENTLY IF EXISTS "refund_idempotency_key";
