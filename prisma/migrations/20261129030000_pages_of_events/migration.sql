-- allowed: only a page of the dashboard called it, which calls older_processor_events now, and no version before it was released.
DROP FUNCTION IF EXISTS newest_processor_events(text, int);
