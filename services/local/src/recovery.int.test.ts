import { randomUUID } from 'node:crypto';
import type { MessageData } from '@uswarm/contract';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type ModelServer, startModelServer, words } from '@uswarm/dev-servers';
import { describeWith } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { type TestClient, startTestClient, streamedText } from '@uswarm/testkit/test-client';
import { ANSWER, startCountingModel } from '../test/counted-answer.js';
import { leftBehind } from '../test/left-behind.js';
import { modelSettings } from '../test/model-settings.js';
import { killIfAlive } from '../test/processes.js';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';
import { startToolServer, type TestToolServer } from '../test/tool-server.js';
import { watchUsage } from '../test/usage-check.js';

const textOf = ({ content }: MessageData): string => (content.type === 'text' ? content.text : '');

describeWith('valkey', 'services as separate processes', () => {
  let model: ModelServer;
  let services: SeparateServices;
  let client: TestClient;
  /** Number of replies that pause in the middle until their hold point is released. */
  let held = 0;

  beforeAll(async () => {
    model = await startCountingModel(() => held > 0 && held-- > 0);
    // Without the calls for titles, which can come at any time after an answer. On a busy machine, another orchestrator
    // can take longer to start than a model may pause by default, which is a minute.
    services = await startSeparateServices({
      ...modelSettings(model),
      SUMMARY_WORKERS: '0',
      USWARM_MODEL_TIMEOUT_MS: '300000',
    });
  });
  afterAll(async () => {
    await services?.close();
    await model?.close();
  });
  beforeEach(async () => {
    held = 0;
    const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
    client = await startTestClient({ ...services, token });
  });
  afterEach(() => client?.close());

  const runtimePid = () => services.runtimePid(client.workspaceId);
  const usage = async () =>
    (
      await services.query<{ answers: number; prompt: number; completion: number }>(
        `SELECT count(*)::int AS answers, sum(prompt_tokens)::int AS prompt, sum(completion_tokens)::int AS completion
         FROM usage_entries WHERE workspace_id = $1 AND kind = 'step' AND NOT reserved`,
        [client.workspaceId],
      )
    )[0];
  /** Calls whose usage was never reported. */
  const unreported = () =>
    services.query(`SELECT step FROM usage_entries WHERE workspace_id = $1 AND reserved`, [client.workspaceId]);
  /** Sends a message whose reply pauses in the middle, and waits until the client has half of it. */
  const askAndHold = async (): Promise<{ hold: string; replyId: string }> => {
    held = 1;
    const hold = `middle-${model.requests.length}`;
    await client.send('Count to six');
    await model.reached(hold);
    const chunk = await client.saw('message.chunk', ({ message_id }: { message_id: string }) =>
      streamedText(client.events, message_id).includes('three'),
    );
    return { hold, replyId: String(chunk.payload['message_id']) };
  };
  const finished = async (replyId: string): Promise<MessageData> => {
    await client.saw('message.done', ({ message_id }: { message_id: string }) => message_id === replyId);
    const updates = client.events.filter(({ name }) => name === 'message.updated');
    return updates.map(({ payload }) => payload['message'] as MessageData).findLast(({ id }) => id === replyId)!;
  };

  it('finishes the turn in a new generation if the runtime is killed between two chunks', async () => {
    const before = { ...model.usageReported };
    const { replyId } = await askAndHold();
    const killed = await runtimePid();
    killIfAlive(killed);
    const answer = await finished(replyId);
    expect(textOf(answer)).toBe(ANSWER);
    expect(await runtimePid()).not.toBe(killed);

    const turns = await services.query('SELECT status, generation FROM turns WHERE workspace_id = $1', [
      client.workspaceId,
    ]);
    expect(turns).toEqual([{ status: 'done', generation: 2 }]);
    expect(streamedText(client.events, replyId)).toBe(ANSWER);
    expect(client.events.filter(({ name }) => name === 'message.done')).toHaveLength(1);
    const replies = client.events.filter(
      ({ name, payload }) => name === 'message.new' && (payload['message'] as MessageData).role === 'agent',
    );
    expect(replies).toHaveLength(1);
    expect(await usage()).toEqual({
      answers: model.usageReported.answers - before.answers,
      prompt: model.usageReported.promptTokens - before.promptTokens,
      completion: model.usageReported.completionTokens - before.completionTokens,
    });
    expect(await unreported()).toEqual([{ step: 1 }]);
  });

  it('moves a turn to another orchestrator if its orchestrator is killed, and shows no agent as working in between', async () => {
    const calls = model.requests.length;
    const { hold, replyId } = await askAndHold();
    const second = await services.addOrchestrator();
    await services.orchestrators[0]!.stop('SIGKILL');
    const ofWorkspace = (sql: string) => services.query(sql, [client.workspaceId]);
    const lease = (until: string) =>
      ofWorkspace(`UPDATE work SET lease_expires_at = ${until} WHERE kind = 'turn' AND workspace_id = $1`);
    // No process follows the turn, and two minutes pass. Repeated, because Postgres can still execute a statement from
    // the killed process that extends the lease.
    const shown = await eventually(async () => {
      await lease(`now() + interval '1 hour'`);
      await ofWorkspace(`UPDATE turns SET activity_until = now() WHERE workspace_id = $1`);
      await ofWorkspace(
        `UPDATE agents SET activity_until = now() WHERE workspace_id = $1 AND activity_until IS NOT NULL`,
      );
      await services.query(`UPDATE work SET run_at = now(), attempts = 0 WHERE kind = 'agent-status-expiry'`);
      return client.events.find(({ name, payload }) => name === 'agent.status' && payload['status'] === 'pending');
    });
    expect(shown.payload['expires_in_ms']).toEqual(expect.any(Number));
    await lease('now()');
    // The turn ends only after the other orchestrator follows it.
    await second.printed(/expired lease taken over/);
    model.release(hold);
    expect(await finished(replyId)).toMatchObject({ status: 'delivered', error: null, content: { text: ANSWER } });
    const turns = await services.query('SELECT status, generation FROM turns WHERE workspace_id = $1', [
      client.workspaceId,
    ]);
    expect(turns).toEqual([{ status: 'done', generation: 1 }]);
    expect(streamedText(client.events, replyId)).toBe(ANSWER);
    expect(model.requests).toHaveLength(calls + 1);
    expect(await services.query('SELECT turn_id FROM turn_progress')).toEqual([]);
    expect(await usage()).toEqual({ answers: 1, prompt: 40, completion: 6 });
    expect(await unreported()).toEqual([]);
    expect(
      await ofWorkspace(`SELECT activity FROM agents
        WHERE workspace_id = $1 AND (activity <> 'online' OR activity_until IS NOT NULL)`),
    ).toEqual([]);
  });
});

describe('a turn whose orchestrator is killed after two tools', () => {
  const ANSWERED = 'Sunny, then rain.';
  let model: ModelServer;
  let tools: TestToolServer;
  let services: SeparateServices;
  let client: TestClient;

  beforeAll(async () => {
    tools = await startToolServer();
    model = await startModelServer({
      script({ messages }) {
        const results = messages.filter(({ role }) => role === 'tool').length;
        const query = ['weather of today', 'weather of tomorrow'][results];
        if (query !== undefined) return [{ toolCalls: [{ name: 'web_search_tool', arguments: { query } }] }];
        return [...words('Sunny, '), { hold: 'answer' }, ...words('then rain.')];
      },
    });
    services = await startSeparateServices({
      ...modelSettings(model),
      ...tools.env,
      SUMMARY_WORKERS: '0',
      WORK_LEASE_MS: '3000',
    });
    const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
    client = await startTestClient({ ...services, token });
  });
  afterAll(async () => {
    client?.close();
    await services?.close();
    await model?.close();
    await tools?.close();
  });

  it('is answered by another orchestrator, and no tool message leaves its state and no call is repeated', async () => {
    const usage = watchUsage(model, services);
    await client.send('How is the weather?');
    await model.reached('answer');
    const states = () => {
      const found: Record<string, string[]> = {};
      for (const { name, payload } of client.events) {
        if (name !== 'message.new' && name !== 'message.updated') continue;
        const { id, content } = payload['message'] as MessageData;
        if (content.type === 'tool_status') (found[id] ??= []).push(content.state);
      }
      return Object.values(found);
    };
    const areCompleted = (all: string[][]) => all.filter((one) => one.at(-1) === 'completed').length === 2;
    expect(await eventually(states, { until: areCompleted })).toHaveLength(2);
    const second = await services.addOrchestrator();
    await services.orchestrators[0]!.stop('SIGKILL');
    await second.printed(/expired lease taken over/);
    model.release('answer');
    const { payload } = await client.saw('message.done');
    const replyId = String(payload['message_id']);
    expect(streamedText(client.events, replyId)).toBe(ANSWERED);
    const afterCompletion = states().map((all) => new Set(all.slice(all.indexOf('completed'))));
    expect(afterCompletion).toEqual([new Set(['completed']), new Set(['completed'])]);
    expect({ asked: model.requests.length, searched: tools.queries }).toEqual({
      asked: 3,
      searched: ['weather of today', 'weather of tomorrow'],
    });
    expect(await services.query('SELECT status, generation FROM turns')).toEqual([{ status: 'done', generation: 1 }]);
    expect(await leftBehind(services, client.workspaceId)).toEqual({});
    expect(await usage.broken(client.workspaceId)).toEqual([]);
  });
});
