import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ModelServer } from '@uswarm/dev-servers';
import { streamedText, type TestClient } from '@uswarm/testkit/test-client';
import { setPlan, textOf, viewOf, withoutGateway } from '../test/budgeted-turns.js';
import { killIfAlive, type SeparateServices } from '../test/separate.js';

describe('the usage of a turn without a model gateway', () => {
  let installation: Awaited<ReturnType<typeof withoutGateway>>;
  let services: SeparateServices;
  let model: ModelServer;
  let client: TestClient;
  let view: ReturnType<typeof viewOf>;
  beforeAll(async () => {
    installation = await withoutGateway();
    ({ services, model } = installation);
  });
  beforeEach(async () => {
    client = await installation.newClient();
    view = viewOf(client);
    // The estimate of a killed call exceeds the budget of the other tests.
    await setPlan(services, client, 'large');
  });
  afterEach(() => client?.close());
  afterAll(() => installation?.close());

  const rows = () =>
    services.query<{ prompt: number; completion: number; estimated: boolean; reserved: boolean }>(
      `SELECT prompt_tokens::int AS prompt, completion_tokens::int AS completion, estimated, reserved
       FROM usage_entries WHERE workspace_id = $1 ORDER BY step`,
      [client.workspaceId],
    );
  const turns = () =>
    services.query<{ id: string; status: string; error_code: string | null; generation: number }>(
      'SELECT id, status, error_code, generation FROM turns WHERE workspace_id = $1 ORDER BY id',
      [client.workspaceId],
    );
  const killRuntime = async (): Promise<void> => {
    const [row] = await services.query<{ pid: number }>('SELECT pid FROM runtime_processes WHERE workspace_id = $1', [
      client.workspaceId,
    ]);
    killIfAlive(row!.pid);
  };

  /** Asks, and waits until the client has the text before the hold point. @returns the id of the reply */
  async function askAndHold(hold: string): Promise<string> {
    await client.send(`Count to six, ${hold}`);
    await model.reached(hold);
    const chunk = await client.saw('message.chunk', ({ message_id }: { message_id: string }) =>
      streamedText(client.events, message_id).includes('three'),
    );
    return String(chunk.payload['message_id']);
  }

  async function expectCounted(before: ModelServer['usageCounted']): Promise<void> {
    const counted = await rows();
    const sum = (key: 'prompt' | 'completion') => counted.reduce((total, row) => total + row[key], 0);
    const { promptTokens, completionTokens } = model.usageCounted;
    expect(sum('prompt')).toBeGreaterThanOrEqual(promptTokens - before.promptTokens);
    expect(sum('completion')).toBeGreaterThanOrEqual(completionTokens - before.completionTokens);
  }

  it('invariant 8: has the estimate of a call whose runtime was killed, and of each later call', async () => {
    const before = { ...model.usageCounted };
    await askAndHold('hold-killed');
    await killRuntime();
    model.release('hold-killed');
    expect(textOf(await view.done(1))).toBe('one two three four five six');
    expect(await turns()).toMatchObject([{ status: 'done', generation: 2 }]);
    expect(await rows()).toMatchObject([
      { estimated: true, reserved: true },
      { prompt: 40, completion: 6, estimated: false, reserved: false },
    ]);
    await expectCounted(before);
    expect(await view.tokensUsed()).toBeGreaterThan(40 + 6);
  });

  it('invariant 8: has the tokens of a call that the user stopped in the middle of its text', async () => {
    const before = { ...model.usageCounted };
    const replyId = await askAndHold('hold-stopped');
    await client.api('POST', `/v1/workspaces/${client.workspaceId}/messages/${replyId}/stop`);
    await view.done(1);
    model.release('hold-stopped');
    expect(await turns()).toMatchObject([{ status: 'stopped' }]);
    expect(await rows()).toMatchObject([{ estimated: true, reserved: false }]);
    await expectCounted(before);
  });

  it('invariant 8: has the estimate of a call that was stopped while its runtime was killed', async () => {
    const before = { ...model.usageCounted };
    const replyId = await askAndHold('hold-both');
    await Promise.all([
      killRuntime(),
      client.api('POST', `/v1/workspaces/${client.workspaceId}/messages/${replyId}/stop`),
    ]);
    await view.done(1);
    model.release('hold-both');
    // The turn is stopped before or after its next generation begins.
    expect(new Set((await rows()).map(({ estimated }) => estimated))).toEqual(new Set([true]));
    await expectCounted(before);
  });

  it('invariant 8: has the estimate once if the orchestrator is killed, whichever follows', async () => {
    const before = { ...model.usageCounted };
    await askAndHold('hold-takeover');
    const second = await services.addOrchestrator();
    await services.orchestrators[0]!.stop('SIGKILL');
    await second.printed(/expired lease taken over/);
    expect(await rows()).toMatchObject([{ reserved: true }]);
    model.release('hold-takeover');
    await view.done(1);
    expect(await rows()).toEqual([{ prompt: 40, completion: 6, estimated: false, reserved: false }]);
    await expectCounted(before);
  });
});
