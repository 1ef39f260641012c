-- By default a table is vacuumed after a fifth of it has changed and analyzed after a tenth, which in a table of ten million rows is
-- after months. refund_work needs nothing of its own: it has only open refunds, so a fifth of it is little.
ALTER TABLE "payment" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.01);
ALTER TABLE "payment_name" SET (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.01);
ALTER TABLE "refund" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.01);
ALTER TABLE "refund_event" SET (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.01);
ALTER TABLE "webhook_delivery" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.01);
