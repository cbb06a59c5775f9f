import type { Database } from '../platform/database/database.js';

export interface ToolServerClientRow {
  server: string;
  /** As stored by `server-accounts.ts`. */
  client: Record<string, unknown>;
  keyId: string | null;
  secret: Buffer | null;
}

const ROW = ['server', 'client', 'key_id as keyId', 'secret'] as const;

export function findServerClient(db: Database, server: string): Promise<ToolServerClientRow | undefined> {
  return db.selectFrom('tool_server_clients').select(ROW).where('server', '=', server).executeTakeFirst();
}

/** Replaces the client. Flows that have begun with the old one fail. */
export async function storeServerClient(
  db: Database,
  { server, client, keyId, secret }: ToolServerClientRow,
): Promise<void> {
  const values = { client: JSON.stringify(client), key_id: keyId, secret, updated_at: new Date() };
  await db
    .insertInto('tool_server_clients')
    .values({ server, ...values })
    .onConflict((conflict) => conflict.column('server').doUpdateSet(values))
    .execute();
}
