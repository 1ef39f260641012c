-- allowed: no version before this one was released, so none runs meanwhile that saves views.
-- squawk-ignore ban-drop-column
ALTER TABLE "membership" DROP COLUMN "saved_views";
