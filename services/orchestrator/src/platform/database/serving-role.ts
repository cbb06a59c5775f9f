import pg from 'pg';

const CONNECT_MS = 10_000;

/**
 * Grants the serving role the minimum rights: rows in all current and future tables, but only SELECT and INSERT on the
 * audit log. The migration role calls it after the migrations. Idempotent.
 */
export async function grantServingRole(databaseUrl: string, role: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: CONNECT_MS });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('BEGIN');
    // Concurrent grants from several replicas would fail with "tuple concurrently updated".
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended('grants of the serving role', 0))");
    const { rows } = await client.query<{ owner: string; schema: string }>(
      'SELECT current_user AS owner, current_schema() AS schema',
    );
    const { owner = '', schema = '' } = rows[0] ?? {};
    if (owner === role) throw new Error(`DATABASE_SERVING_ROLE ${role} is the role that migrates; it needs its own`);
    for (const statement of grants(client, { role, schema })) await client.query(statement);
    await client.query('COMMIT');
  } finally {
    await client.end().catch(() => undefined);
  }
}

function grants(client: pg.Client, names: { role: string; schema: string }): string[] {
  const role = client.escapeIdentifier(names.role);
  const schema = client.escapeIdentifier(names.schema);
  const rows = 'SELECT, INSERT, UPDATE, DELETE';
  return [
    `GRANT USAGE ON SCHEMA ${schema} TO ${role}`,
    `GRANT ${rows} ON ALL TABLES IN SCHEMA ${schema} TO ${role}`,
    `GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${schema} TO ${role}`,
    `REVOKE UPDATE, DELETE, TRUNCATE ON ${schema}.audit_log FROM ${role}`,
    `REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON ${schema}.schema_migrations FROM ${role}`,
    `GRANT EXECUTE ON FUNCTION ${schema}.forget_user_in_audit(uuid) TO ${role}`,
    `GRANT EXECUTE ON FUNCTION ${schema}.prune_sessions_in_audit(timestamptz, integer) TO ${role}`,
    `GRANT EXECUTE ON FUNCTION ${schema}.create_event_partitions(integer) TO ${role}`,
    `GRANT EXECUTE ON FUNCTION ${schema}.drop_event_partitions(date) TO ${role}`,
    `ALTER DEFAULT PRIVILEGES IN SCHEMA ${schema} GRANT ${rows} ON TABLES TO ${role}`,
    `ALTER DEFAULT PRIVILEGES IN SCHEMA ${schema} GRANT USAGE ON SEQUENCES TO ${role}`,
  ];
}
