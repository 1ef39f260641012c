ALTER TABLE "api_key" ADD COLUMN "first_tool" TEXT, ADD COLUMN "first_tool_at" TIMESTAMPTZ(3);
