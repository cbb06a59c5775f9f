import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@uswarm/testkit/eventually';
import { startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { buildPreviousRuntime, type ReplaceableRuntime } from '../test/previous-runtime.js';
import { killIfAlive } from '../test/processes.js';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';

describe('a workspace whose runtime is of the previous release', () => {
  let runtime: ReplaceableRuntime;
  let services: SeparateServices;
  let client: TestClient;
  beforeAll(async () => {
    runtime = await buildPreviousRuntime();
    services = await startSeparateServices({ RUNTIME_PROGRAM: runtime.program, SUMMARY_WORKERS: '0' });
    const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
    client = await startTestClient({ ...services, token });
  });
  afterAll(async () => {
    client?.close();
    await services?.close();
    await runtime?.remove();
  });

  const ofWorkspace = (sql: string) => services.query(sql, [client.workspaceId]);
  const process = async () => {
    const [row] = await services.query<{ pid: number }>('SELECT pid FROM runtime_processes WHERE workspace_id = $1', [
      client.workspaceId,
    ]);
    return row!.pid;
  };
  const entries = () =>
    ofWorkspace(
      `SELECT e.kind FROM turn_entries e JOIN turns t ON t.id = e.turn_id WHERE t.workspace_id = $1 ORDER BY t.id, e.number`,
    );

  /** Asks for options, which the demo model shows on a card, and waits until the turn has ended. */
  async function cards(): Promise<unknown[]> {
    const ended = `SELECT FROM turns WHERE workspace_id = $1 AND status NOT IN ('queued', 'running')`;
    const replies = () => client.events.filter(({ name }) => name === 'message.done').length;
    const before = { turns: (await ofWorkspace(ended)).length, replies: replies() };
    await client.send('Give me some options');
    await eventually(() => ofWorkspace(ended), { until: (turns) => turns.length > before.turns, timeoutMs: 60_000 });
    // The next question must not take the end of this reply for its own.
    await eventually(async () => replies(), { until: (seen) => seen > before.replies });
    return ofWorkspace(
      `SELECT status FROM messages WHERE workspace_id = $1 AND content ->> 'type' = 'action_card' ORDER BY seq`,
    );
  }

  it('is answered without a journal, and with tools of the runtime', async () => {
    const { answer } = await client.ask('Hello there');
    expect(answer).toMatchObject({ status: 'delivered', content: { text: expect.stringContaining('Hello there') } });
    expect(await cards()).toEqual([{ status: 'delivered' }]);
    expect(await ofWorkspace('SELECT status, error_code FROM turns WHERE workspace_id = $1')).toEqual([
      { status: 'done', error_code: null },
      { status: 'done', error_code: null },
    ]);
    expect(await entries()).toEqual([]);
  });

  it('uses journals after its runtime was replaced', async () => {
    const former = await process();
    await runtime.replace();
    killIfAlive(former);
    const { answer } = await client.ask('Hello again');
    expect(answer).toMatchObject({ status: 'delivered', content: { text: expect.stringContaining('Hello again') } });
    expect(await process()).not.toBe(former);
    expect(await cards()).toHaveLength(2);
    expect(await entries()).toEqual([{ kind: 'step' }, { kind: 'result' }]);
  });
});
