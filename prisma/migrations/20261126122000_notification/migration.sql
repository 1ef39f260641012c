-- Notifications, a row for each recipient, and whether they were sent.
CREATE TABLE "notification" (
    "id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "target" TEXT NOT NULL,
    "since" TIMESTAMPTZ(3) NOT NULL,
    "recipient" TEXT NOT NULL,
    "organization_id" TEXT,
    "environment" "environment",
    "due_at" TIMESTAMPTZ(3),
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "message_id" TEXT,
    "sent_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "notification_pkey" PRIMARY KEY ("id")
);

-- A recipient gets one notification of a state.
CREATE UNIQUE INDEX "notification_once" ON "notification"("kind", "target", "since", "recipient");

-- Retention.
CREATE INDEX "notification_created_at_idx" ON "notification"("created_at");

-- What is left to send.
CREATE INDEX "notification_due" ON "notification"("due_at") WHERE "due_at" IS NOT NULL;
