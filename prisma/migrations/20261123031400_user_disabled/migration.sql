-- Set while an operator keeps a user from signing in.
ALTER TABLE "user" ADD COLUMN "disabled_at" TIMESTAMPTZ(3);

-- Only an erasure of personal data may rewrite history: the commands that erase announce it for their transaction. The role of
-- the service has no right to UPDATE these tables and stays refused, whatever it announces.
CREATE OR REPLACE FUNCTION refuse_change_of_history() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND current_setting('refunds.erasure', true) = 'on' THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION '% is append-only: % is refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END;
$$;
