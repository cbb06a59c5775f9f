-- Up Migration

-- IANA name; empty when not known. A device that sends X-Timezone takes precedence.
ALTER TABLE users ADD COLUMN time_zone text NOT NULL DEFAULT '';

-- Down Migration

ALTER TABLE users DROP COLUMN time_zone;
