-- The trigger on refund that refuses a change of the status that the state table does not have (can_move.sql), whichever statement writes it.
CREATE OR REPLACE FUNCTION refuse_other_moves() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'Refund % cannot move from % to %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
END
$$;
