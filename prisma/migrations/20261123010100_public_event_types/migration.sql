-- The same rule as is_public_event, in place of a second list of types. Existing rows fulfil it already.
ALTER TABLE "refund_event" DROP CONSTRAINT "refund_event_public_in_feed";
ALTER TABLE "refund_event"
    ADD CONSTRAINT "refund_event_public_in_feed" CHECK (
        num_nulls("organization_id", "environment", "position")
            = CASE WHEN starts_with("type", 'refund.') THEN 0 ELSE 3 END) NOT VALID;
