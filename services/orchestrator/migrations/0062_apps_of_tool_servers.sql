-- Up Migration

-- These apps are tool servers now; their older connections have no tools. Jobs of such a connection end when they find no row. A replica of the
-- previous release can still store one during the update: nothing reads it, and it is deleted with the account.
DELETE FROM integrations WHERE provider IN ('slack', 'jira', 'notion', 'asana', 'github', 'zoom');

-- Down Migration

-- Nothing restores the tokens: users connect again.
SELECT;
