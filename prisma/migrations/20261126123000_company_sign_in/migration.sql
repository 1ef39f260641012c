-- Sign-in with the OpenID Connect provider of an organization.
CREATE TABLE "identity_provider" (
  "organization_id" TEXT NOT NULL,
  "issuer" TEXT NOT NULL,
  "client_id" TEXT NOT NULL,
  "encrypted_client_secret" BYTEA NOT NULL,
  "encryption_key_id" TEXT NOT NULL,
  "role_claim" TEXT NOT NULL,
  "roles" JSONB NOT NULL,
  "disabled_at" TIMESTAMPTZ(3),
  "is_enforced" BOOLEAN NOT NULL DEFAULT false,
  "owner_signed_in_at" TIMESTAMPTZ(3),
  "updated_at" TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT "identity_provider_pkey" PRIMARY KEY ("organization_id"),
  CONSTRAINT "identity_provider_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);

CREATE TABLE "company_account" (
  "organization_id" TEXT NOT NULL,
  "issuer" TEXT NOT NULL,
  "subject" TEXT NOT NULL,
  "user_id" TEXT NOT NULL,
  "created_at" TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT "company_account_pkey" PRIMARY KEY ("organization_id", "issuer", "subject"),
  CONSTRAINT "company_account_organization_id_user_id_fkey" FOREIGN KEY ("organization_id", "user_id") REFERENCES "membership" ("organization_id", "user_id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE INDEX "company_account_user_id_organization_id_idx" ON "company_account" ("user_id", "organization_id");
