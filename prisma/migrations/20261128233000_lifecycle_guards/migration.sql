-- The texts of these functions are in prisma/functions, which replaces them in the same transaction.
CREATE FUNCTION refuse_written_reserved() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE FUNCTION keep_reserved() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE FUNCTION can_move(status_before refund_status, status_after refund_status) RETURNS boolean
    LANGUAGE sql IMMUTABLE AS $$ SELECT true $$;
CREATE FUNCTION refuse_other_moves() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;

-- At depth 0 a statement writes it, below that the trigger of the refunds.
CREATE TRIGGER "payment_reserved_is_derived" AFTER UPDATE OF "reserved" ON "payment"
    FOR EACH ROW WHEN (pg_trigger_depth() = 0 AND NEW.reserved <> OLD.reserved) EXECUTE FUNCTION refuse_written_reserved();
CREATE TRIGGER "payment_reserved_from_zero" AFTER INSERT ON "payment"
    FOR EACH ROW WHEN (NEW.reserved <> 0) EXECUTE FUNCTION refuse_written_reserved();

-- The one definition of the refunds whose amount counts against what can still be refunded.
ALTER TABLE "refund" ADD COLUMN "is_live" BOOLEAN NOT NULL
    -- allowed: no version before this one was released, so no installation has a large table.
    -- squawk-ignore adding-field-with-default
    GENERATED ALWAYS AS ("status" IN ('pending', 'processing', 'completed')) STORED;

-- By row, because few updates change a status or a reservation, and the conditions spare the others all cost, and because refunds are
-- inserted one by one. After the update, because a trigger before it would lock each row once more.
CREATE TRIGGER "refund_reserves" AFTER INSERT ON "refund"
    FOR EACH ROW WHEN (NEW.is_live) EXECUTE FUNCTION keep_reserved();
CREATE TRIGGER "refund_changes_reservation" AFTER UPDATE ON "refund"
    FOR EACH ROW WHEN ((OLD.is_live, OLD.amount, OLD.payment_id) IS DISTINCT FROM (NEW.is_live, NEW.amount, NEW.payment_id))
    EXECUTE FUNCTION keep_reserved();
CREATE TRIGGER "refund_moves_by_state_table" AFTER UPDATE ON "refund"
    FOR EACH ROW WHEN (OLD.status <> NEW.status AND NOT can_move(OLD.status, NEW.status))
    EXECUTE FUNCTION refuse_other_moves();

-- allowed: only functions call it, which are replaced in the same transaction by others that pass the recovery as well.
DROP FUNCTION IF EXISTS next_refund_step(refund, refund_work, boolean);
