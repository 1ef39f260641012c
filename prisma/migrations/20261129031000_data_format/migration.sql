-- Which versions may use this database together: `dataFormat` of shared/platform/data-format.ts. A migration raises it when processes of the
-- version before must not run beside those of its own.
CREATE FUNCTION data_format() RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT 1 $$;
