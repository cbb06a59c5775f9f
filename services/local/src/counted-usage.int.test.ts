import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@uswarm/testkit/eventually';
import { streamedText, type TestClient } from '@uswarm/testkit/test-client';
import { type Installation, separately, setPlan, textOf, viewOf } from '../test/budgeted-turns.js';
import { KILLED, type SeparateServices } from '../test/separate.js';
import { type UsageCheck, watchUsage } from '../test/usage-check.js';

const REPORTED = { prompt: 40, completion: 6, estimated: false, reserved: false };

describe.each([
  ['without a model gateway', false],
  ['with a model gateway', true],
])('the usage of a turn, %s', (_how, modelGateway) => {
  let installation: Installation & { services: SeparateServices };
  let client: TestClient;
  let view: ReturnType<typeof viewOf>;
  let usage: UsageCheck;
  beforeAll(async () => {
    installation = await separately({ modelGateway }, { WORK_LEASE_MS: '3000' });
  });
  beforeEach(async () => {
    const { services, model } = installation;
    client = await installation.newClient();
    view = viewOf(client);
    usage = watchUsage(model, services);
    // A killed call's estimate exceeds the other tests' budget.
    await setPlan(services, client, 'large');
  });
  afterEach(() => client?.close());
  afterAll(() => installation?.close());

  /** Estimate for a call whose process was killed. The model gateway settles it. */
  const LOST = { estimated: true, reserved: !modelGateway };

  const rows = () =>
    installation.services.query(
      `SELECT prompt_tokens::int AS prompt, completion_tokens::int AS completion, estimated, reserved
       FROM usage_entries WHERE workspace_id = $1 ORDER BY created_at`,
      [client.workspaceId],
    );
  const turns = () =>
    installation.services.query('SELECT status, generation FROM turns WHERE workspace_id = $1', [client.workspaceId]);

  /** Asks, and waits until the client has the text before the hold point. @returns the reply id */
  async function askAndHold(hold: string): Promise<string> {
    await client.send(`Count to six, ${hold}`);
    await installation.model.reached(hold);
    const chunk = await client.saw('message.chunk', ({ message_id }: { message_id: string }) =>
      streamedText(client.events, message_id).includes('three'),
    );
    return String(chunk.payload['message_id']);
  }

  const stop = (replyId: string) => client.api('POST', `/v1/workspaces/${client.workspaceId}/messages/${replyId}/stop`);

  it.each(KILLED)(
    'invariant 8: has each call once if a process is killed in the middle of a text: %s',
    async (killed) => {
      const { services, model } = installation;
      const hold = `hold-${KILLED.indexOf(killed)}`;
      await askAndHold(hold);
      const requests = model.requests.length;
      // A runtime that lives sends the rest of its call to the next orchestrator.
      const isLost = killed !== 'the orchestrator';
      await services.kill(killed, client.workspaceId);
      await services.recover(killed);
      // A killed runtime's call is cut.
      if (isLost) await eventually(() => model.requests, { until: ({ length }) => length > requests });
      model.release(hold);
      expect(textOf(await view.done(1))).toBe('one two three four five six');
      expect(await view.tokensUsed()).toBeGreaterThanOrEqual(REPORTED.prompt + REPORTED.completion);
      expect(await turns()).toMatchObject([{ status: 'done', generation: isLost ? 2 : 1 }]);
      expect(await usage.broken(client.workspaceId)).toEqual([]);
      expect(await rows()).toMatchObject(isLost ? [LOST, REPORTED] : [REPORTED]);
    },
  );

  it('invariant 8: has the tokens of a call that the user stopped in the middle of its text', async () => {
    const replyId = await askAndHold('hold-stopped');
    await stop(replyId);
    await view.done(1);
    installation.model.release('hold-stopped');
    expect(await turns()).toMatchObject([{ status: 'stopped' }]);
    expect(await usage.broken(client.workspaceId)).toEqual([]);
    expect(await rows()).toMatchObject([{ estimated: true, reserved: false }]);
  });

  it('invariant 8: has the estimate of a call that was stopped while its runtime was killed', async () => {
    const replyId = await askAndHold('hold-both');
    await Promise.all([installation.services.kill('the runtime', client.workspaceId), stop(replyId)]);
    await view.done(1);
    installation.model.release('hold-both');
    expect(await usage.broken(client.workspaceId)).toEqual([]);
    // The turn is stopped before or after its next generation begins.
    const estimated = (await rows()).map((row) => (row as { estimated: boolean }).estimated);
    expect(new Set(estimated)).toEqual(new Set([true]));
  });
});
