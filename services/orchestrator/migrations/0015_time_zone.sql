-- Up Migration

-- IANA name; empty if unknown. The X-Timezone header of a device takes precedence.
ALTER TABLE users ADD COLUMN time_zone text NOT NULL DEFAULT '';

-- Down Migration

ALTER TABLE users DROP COLUMN time_zone;
