-- Up Migration

-- Calls that changed data of uswarm have receipts, too: `own`, inserted with the effect. Users can delete such data, so these
-- receipts have no arguments. Their hash is the SHA-256 of the arguments alone.
ALTER TABLE receipts
  DROP CONSTRAINT receipts_effect_check,
  ADD CONSTRAINT receipts_effect_check CHECK (effect IN ('own', 'keyed', 'once')),
  ALTER COLUMN arguments DROP NOT NULL,
  ADD CONSTRAINT receipts_arguments CHECK ((arguments IS NULL) = (effect = 'own'));

-- Down Migration

DELETE FROM receipts WHERE effect = 'own';
ALTER TABLE receipts
  DROP CONSTRAINT receipts_arguments,
  ALTER COLUMN arguments SET NOT NULL,
  DROP CONSTRAINT receipts_effect_check,
  ADD CONSTRAINT receipts_effect_check CHECK (effect IN ('keyed', 'once'));
