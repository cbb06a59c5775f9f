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

  /** Asks for options, which the demo model shows on a card, and waits until the turn has ended. */
  async function askForCard(): Promise<void> {
    const ended = `SELECT FROM turns WHERE workspace_id = $1 AND status NOT IN ('queued', 'running')`;
    const replies = () => client.events.filter(({ name }) => name === 'message.done').length;
    const before = { turns: (await ofWorkspace(ended)).length, replies: replies() };
    await client.send('Give me some options');
    await eventually(() => ofWorkspace(ended), { until: (turns) => turns.length > before.turns, timeoutMs: 60_000 });
    // The next question must not take the end of this reply for its own.
    await eventually(async () => replies(), { until: (seen) => seen > before.replies });
  }
  /** All journals, and the cards. */
  const stored = async () => ({
    entries: await ofWorkspace(
      `SELECT e.kind FROM turn_entries e JOIN turns t ON t.id = e.turn_id WHERE t.workspace_id = $1 ORDER BY t.id, e.number`,
    ),
    cards: await ofWorkspace(
      `SELECT status FROM messages WHERE workspace_id = $1 AND content ->> 'type' = 'action_card' ORDER BY seq`,
    ),
  });
  const CARD = { entries: [{ kind: 'step' }, { kind: 'result' }], cards: [{ status: 'delivered' }] };
  const twice = <Row>(rows: readonly Row[]): Row[] => [...rows, ...rows];

  it('is answered, and uses tools with a journal', async () => {
    const { answer } = await client.ask('Hello there');
    expect(answer).toMatchObject({ status: 'delivered', content: { text: expect.stringContaining('Hello there') } });
    await askForCard();
    expect(await stored()).toEqual(CARD);
  });

  it('has the whole answer, once, if the runtime is replaced by the current one meanwhile', async () => {
    const words = Array.from({ length: 300 }, (_, at) => `w${at}`).join(' ');
    const former = await process();
    const chunks = client.events.filter(({ name }) => name === 'message.chunk');
    const answered = client.ask(`Repeat: ${words}`);
    await eventually(async () => client.events.filter(({ name }) => name === 'message.chunk').length, {
      until: (seen) => seen > chunks.length,
    });
    await runtime.replace();
    killIfAlive(former);
    const { answer, streamed } = await answered;
    expect(await process()).not.toBe(former);
    expect(answer).toMatchObject({ status: 'delivered', content: { text: expect.stringContaining(words) } });
    expect(answer.content).toMatchObject({ text: streamed });
    expect(
      await ofWorkspace(`SELECT FROM messages WHERE workspace_id = $1 AND content ->> 'text' LIKE '%w299%'`),
    ).toHaveLength(2);
  });

  it('uses tools in the current runtime too', async () => {
    await askForCard();
    expect(await stored()).toEqual({ entries: twice(CARD.entries), cards: twice(CARD.cards) });
  });
});
