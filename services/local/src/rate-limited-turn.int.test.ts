import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ModelServer, startModelServer } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import { startTestClient } from '@uswarm/testkit/test-client';
import { modelSettings } from '../test/model-settings.js';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';

const LIMITED = 'Say hello when you can';
/** More than a turn waits with a worker. */
const RETRY_AFTER_S = 600;

describe('a turn whose model provider limits requests for minutes', () => {
  let model: ModelServer;
  let services: SeparateServices;
  /** The last message of each request to the model. */
  const asked: string[] = [];

  beforeAll(async () => {
    model = await startModelServer({
      script({ messages }) {
        const text = JSON.stringify(messages.at(-1)?.content);
        const isLimited = text.includes(LIMITED) && !asked.some((earlier) => earlier.includes(LIMITED));
        asked.push(text);
        if (!isLimited) return [{ text: 'Hello.' }];
        return [{ error: { status: 429, headers: { 'retry-after': String(RETRY_AFTER_S) } } }];
      },
    });
    services = await startSeparateServices({
      ...modelSettings(model),
      SUMMARY_WORKERS: '0',
      TURN_WORKERS: '1',
    });
  });
  afterAll(async () => {
    await services?.close();
    await model?.close();
  });

  const client = async (name: string) => {
    const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name });
    return startTestClient({ ...services, token });
  };

  it('frees its worker for other users, and continues after the wait', async () => {
    const ada = await client('Ada');
    await ada.send(LIMITED);
    const state = () =>
      services.query(
        `SELECT t.status, t.generation, a.activity, w.lease_id AS lease,
           w.run_at > now() + $2 * interval '1 second' AS later
         FROM turns t JOIN work w ON w.subject_id = t.id JOIN agents a ON a.id = t.agent_id
         WHERE t.workspace_id = $1 AND t.waits_until IS NOT NULL AND w.lease_id IS NULL`,
        [ada.workspaceId, RETRY_AFTER_S / 2],
      );
    const [waiting] = await eventually(state, { until: (rows) => rows.length > 0 });
    expect(waiting).toEqual({ status: 'running', generation: 2, activity: 'pending', lease: null, later: true });

    // The only worker runs the turn of another user.
    const bea = await client('Bea');
    await bea.send('Hello?');
    await bea.saw('message.done');
    expect(asked.filter((text) => text.includes(LIMITED))).toHaveLength(1);

    await services.query(`UPDATE turns SET waits_until = now() WHERE workspace_id = $1`, [ada.workspaceId]);
    await services.query(`UPDATE work SET run_at = now() WHERE workspace_id = $1 AND kind = 'turn'`, [ada.workspaceId]);
    await ada.saw('message.done');
    expect(asked.filter((text) => text.includes(LIMITED))).toHaveLength(2);
    const turns = await services.query('SELECT status, generation FROM turns WHERE workspace_id = $1', [
      ada.workspaceId,
    ]);
    expect(turns).toEqual([{ status: 'done', generation: 2 }]);
    ada.close();
    bea.close();
  });
});
