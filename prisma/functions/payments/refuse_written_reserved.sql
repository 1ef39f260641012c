-- The trigger on payment that refuses any other value of `reserved` than keep_reserved.sql writes.
CREATE OR REPLACE FUNCTION refuse_written_reserved() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'What is reserved of payment % follows its refunds and cannot be written', NEW.id USING ERRCODE = 'check_violation';
END
$$;
