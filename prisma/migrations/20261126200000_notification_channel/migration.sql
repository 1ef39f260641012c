-- Where an environment's notifications are posted, besides the mails of members.
CREATE TABLE "notification_channel" (
  "id" TEXT NOT NULL,
  "organization_id" TEXT NOT NULL,
  "environment" "environment" NOT NULL,
  "encrypted_url" BYTEA NOT NULL,
  "encryption_key_id" TEXT NOT NULL,
  "host" TEXT NOT NULL,
  "updated_at" TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT "notification_channel_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "notification_channel_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);

CREATE UNIQUE INDEX "notification_channel_organization_id_environment_key" ON "notification_channel" ("organization_id", "environment");
