-- Keys made before scopes existed keep what they could do.
ALTER TABLE "api_key" ADD COLUMN "scopes" TEXT[] DEFAULT ARRAY['refunds:read', 'refunds:write', 'policies:read']::TEXT[];

-- AlterTable
ALTER TABLE "api_key" ADD COLUMN     "agent_limits" JSONB,
ADD COLUMN     "expires_at" TIMESTAMPTZ(3),
ADD COLUMN     "name" TEXT NOT NULL DEFAULT '',
ADD COLUMN     "stopped_at" TIMESTAMPTZ(3);
