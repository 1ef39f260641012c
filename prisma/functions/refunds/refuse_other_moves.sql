-- The trigger on refund that refuses a change of the status that the state table does not have, whoever writes it.
CREATE OR REPLACE FUNCTION refuse_other_moves() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  IF NOT can_move(OLD.status, NEW.status) THEN
    RAISE EXCEPTION 'Refund % cannot move from % to %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END
$$;
