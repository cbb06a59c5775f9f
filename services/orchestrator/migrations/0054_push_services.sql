-- Up Migration

-- The service that push_token belongs to. With web_push it is the endpoint of a browser subscription, and push_keys has its keys. A
-- replica of the previous release sends such a token to Firebase, which refuses it: the page registers again when it is opened.
ALTER TABLE devices
  ADD COLUMN push_service text NOT NULL DEFAULT 'fcm' CHECK (push_service IN ('fcm', 'apns', 'web_push')),
  ADD COLUMN push_keys jsonb;

-- Notifications of a muted conversation are not sent.
ALTER TABLE conversations ADD COLUMN muted boolean NOT NULL DEFAULT false;

-- The rows now remain until the notification is withdrawn, because the user read the message or decided on the card.
ALTER TABLE push_deliveries ADD COLUMN at timestamptz NOT NULL DEFAULT now();

-- Down Migration

ALTER TABLE push_deliveries DROP COLUMN at;
ALTER TABLE conversations DROP COLUMN muted;
ALTER TABLE devices DROP COLUMN push_keys, DROP COLUMN push_service;
