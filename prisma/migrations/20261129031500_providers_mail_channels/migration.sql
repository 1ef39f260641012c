-- AlterTable
ALTER TABLE "identity_provider" ADD COLUMN "scopes" TEXT NOT NULL DEFAULT 'openid email profile',
ADD COLUMN "accepts_unverified" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN "tells_sign_in_time" BOOLEAN NOT NULL DEFAULT false;

-- AlterTable
ALTER TABLE "user" ADD COLUMN "mail_refused_at" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "invitation" ADD COLUMN "mail_refused_at" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "notification_channel" ADD COLUMN "gone_at" TIMESTAMPTZ(3);
