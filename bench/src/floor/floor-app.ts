import { randomUUIDv7 } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import express, { type Express } from 'express';
import pg from 'pg';
import type { FloorScript, Place } from '../replay/script.js';
import { fill, type Filling, newIdsOf, type StatementTemplate } from '../replay/template.js';

const INT8 = 20;
const BEGIN = /^(begin|start transaction)/i;
const END = /^(commit|rollback)/i;

/** A statement that skips locked rows is repeated until it stores its message. */
const RETRIES = 1_000;
const RETRY_MS = 1;

type Row = Record<string, unknown>;

/**
 * The minimal implementation: express, a connection pool, and the orchestrator's recorded statements. Without
 * validation and authentication; returns messages as stored.
 */
export function createFloorApp(script: FloorScript, pool: pg.Pool): Express {
  const places = new Map(script.places.map((place) => [pathOf(place), place]));
  const newIds = newIdsOf(script.send);
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.get('/{*path}', async (request, response) => {
    const statements = script.reads[request.originalUrl];
    if (statements === undefined) return void response.status(404).end();
    response.json({ data: await replay(pool, statements, {}) });
  });
  app.post('/{*path}', express.json(), async (request, response) => {
    const place = places.get(request.path);
    if (place === undefined) return void response.status(404).end();
    const { local_id: localId, content } = request.body as { local_id: string; content: { text: string } };
    const { userId, subject, workspaceId, conversationId, agentId } = place;
    const made = Object.fromEntries(newIds.map((name) => [name, randomUUIDv7()]));
    const own = { userId, subject, workspaceId, conversationId, agentId, localId, text: content.text };
    const rows = await replay(pool, script.send, { ...own, ...made });
    response.status(201).json({ data: { content, ...rows[0] } });
  });
  return app;
}

export function pathOf({ workspaceId, conversationId }: Place): string {
  return `/v1/workspaces/${workspaceId}/conversations/${conversationId}/messages`;
}

/**
 * Runs each statement on a pool connection, a transaction's statements on the same one. @returns the last messages read
 */
async function replay(pool: pg.Pool, statements: readonly StatementTemplate[], filling: Filling): Promise<Row[]> {
  let held: pg.PoolClient | undefined;
  let seq: number | undefined;
  let messages: Row[] = [];
  try {
    for (const { values, stores, ...statement } of statements) {
      const { text } = statement;
      if (BEGIN.test(text)) held = await pool.connect();
      const query = { ...statement, values: fill(values, filling, seq) };
      let result = await (held ?? pool).query<Row>(query);
      for (let retry = 0; stores === true && result.rows.length === 0 && retry < RETRIES; retry += 1) {
        await sleep(RETRY_MS);
        result = await (held ?? pool).query<Row>(query);
      }
      if (stores === true && result.rows.length === 0) throw new Error('the message was not stored');
      if (END.test(text)) {
        held?.release();
        held = undefined;
      }
      const [row, ...more] = result.rows;
      if (row !== undefined && ('content' in row || stores === true)) messages = result.rows;
      if (more.length === 0 && typeof row?.['seq'] === 'number') seq = row['seq'];
    }
    return messages;
  } finally {
    // Only after a failed transaction: closing the connection rolls it back.
    held?.release(true);
  }
}

export function openPool({ databaseUrl, pool: max }: Pick<FloorScript, 'databaseUrl' | 'pool'>): pg.Pool {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max,
    types: {
      getTypeParser: (oid, format) =>
        oid === INT8 && format !== 'binary' ? Number : pg.types.getTypeParser(oid, format),
    },
  });
  // Postgres closes idle connections when a run is interrupted.
  pool.on('error', () => undefined);
  return pool;
}
