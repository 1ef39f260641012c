-- What the processor's rate limits have shown of each operation, and the rate that was set for the account.
ALTER TABLE "processor_account" ADD COLUMN     "calls_per_second" INTEGER,
ADD COLUMN     "rate_limits" JSONB NOT NULL DEFAULT '{}';

-- How many calls workers have made lately, per operation of an account. A crash of PostgreSQL empties it, which costs nothing but a burst.
CREATE UNLOGGED TABLE "operation_calls" (
    "account_id" TEXT NOT NULL,
    "operation" TEXT NOT NULL,
    "spent_until" TIMESTAMPTZ(6) NOT NULL,
    "granted" INTEGER NOT NULL,

    CONSTRAINT "operation_calls_pkey" PRIMARY KEY ("account_id","operation")
);
