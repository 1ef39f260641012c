-- How many calls workers have made to each account lately. A crash of PostgreSQL empties it, which costs nothing but a burst.
CREATE UNLOGGED TABLE "account_calls" (
    "organization_id" TEXT NOT NULL,
    "environment" "environment" NOT NULL,
    "processor" TEXT NOT NULL,
    "spent_until" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "account_calls_pkey" PRIMARY KEY ("organization_id","environment","processor")
);
