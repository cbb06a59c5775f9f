-- Up Migration

-- The sequence of a workspace up to which a device has received everything. Only pushes read it. The devices of a user are limited.
CREATE TABLE device_positions (
  user_id uuid NOT NULL,
  device_id text NOT NULL,
  workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  seq bigint NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (user_id, device_id, workspace_id),
  FOREIGN KEY (user_id, device_id) REFERENCES devices ON DELETE CASCADE
);
CREATE INDEX device_positions_workspace ON device_positions (workspace_id);

-- Devices that have received the notification of a message while others have not.
CREATE TABLE push_deliveries (
  message_id uuid NOT NULL REFERENCES messages ON DELETE CASCADE,
  user_id uuid NOT NULL,
  device_id text NOT NULL,
  PRIMARY KEY (message_id, user_id, device_id),
  FOREIGN KEY (user_id, device_id) REFERENCES devices ON DELETE CASCADE
);
CREATE INDEX push_deliveries_device ON push_deliveries (user_id, device_id);

-- Whole seconds of audio and video. Null for other files, for files that cannot be read, and for those that the previous release received.
ALTER TABLE uploads ADD COLUMN duration integer CHECK (duration >= 0);

-- Down Migration

ALTER TABLE uploads DROP COLUMN duration;
DROP TABLE push_deliveries;
DROP TABLE device_positions;
