-- Keys made before scopes existed keep what they could do.
ALTER TABLE "api_key" ADD COLUMN "scopes" TEXT[] NOT NULL DEFAULT '{refunds:read,refunds:write,policies:read}';
ALTER TABLE "api_key" ALTER COLUMN "scopes" DROP DEFAULT;

-- AlterTable
ALTER TABLE "api_key" ADD COLUMN     "agent_limits" JSONB,
ADD COLUMN     "expires_at" TIMESTAMPTZ(3),
ADD COLUMN     "name" TEXT NOT NULL DEFAULT '',
ADD COLUMN     "stopped_at" TIMESTAMPTZ(3);
