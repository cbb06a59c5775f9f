-- Up Migration

-- Pixels of pictures as they are displayed; null for other files and for earlier uploads.
ALTER TABLE uploads ADD COLUMN width integer;
ALTER TABLE uploads ADD COLUMN height integer;

-- Down Migration

ALTER TABLE uploads DROP COLUMN width;
ALTER TABLE uploads DROP COLUMN height;
