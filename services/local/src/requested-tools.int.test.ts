import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type ModelServer, startModelServer } from '@uswarm/dev-servers';
import { startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { modelSettings } from '../test/model-settings.js';
import { killIfAlive } from '../test/processes.js';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';

const MEMORY = { key: 'tea', content: 'The user drinks green tea.' };

describe('a memory that is saved while a process is killed', () => {
  let model: ModelServer;
  let services: SeparateServices;
  let client: TestClient;
  /** The instructions of each model call. */
  let prompts: string[] = [];

  beforeAll(async () => {
    model = await startModelServer({
      script: ({ messages }) => {
        prompts.push(messages.flatMap(({ role, content }) => (role === 'system' ? [String(content)] : [])).join('\n'));
        return messages.at(-1)?.role === 'tool'
          ? [{ text: 'Saved.' }]
          : [{ hold: `call-${prompts.length}` }, { toolCalls: [{ name: 'remember', arguments: MEMORY }] }];
      },
    });
    services = await startSeparateServices({
      ...modelSettings(model),
      SUMMARY_WORKERS: '0',
    });
  });
  beforeEach(async () => {
    prompts = [];
    const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
    client = await startTestClient({ ...services, token });
  });
  afterEach(() => client?.close());
  afterAll(async () => {
    await services?.close();
    await model?.close();
  });

  /** Calls `kill` while the orchestrator executes the call of `remember`, which then continues. */
  async function duringCall(kill: () => Promise<unknown>): Promise<void> {
    await client.send('I drink green tea');
    await model.reached('call-1');
    const unlock = await services.lockTable('deleted_memories');
    model.release('call-1');
    await services.untilBlocked();
    await kill();
    await unlock();
  }

  /** Everything that a repeated call would change. */
  async function afterTurn() {
    await client.saw('message.done');
    const ofWorkspace = (sql: string) => services.query(sql, [client.workspaceId]);
    return {
      memories: await ofWorkspace(
        `SELECT m.key, m.content, m.updated_at = m.created_at AS "savedOnce"
         FROM agent_memories m JOIN agents a ON a.id = m.agent_id WHERE a.workspace_id = $1`,
      ),
      shown: await ofWorkspace(
        `SELECT content ->> 'tool' AS tool, content ->> 'state' AS state FROM messages
         WHERE workspace_id = $1 AND content ->> 'type' = 'tool_status'`,
      ),
      turns: await ofWorkspace('SELECT status, generation FROM turns WHERE workspace_id = $1'),
      prompts,
      kept: await services.query('SELECT turn_id FROM tool_calls UNION SELECT turn_id FROM turn_contexts'),
      receipts: await ofWorkspace(
        `SELECT tool, effect, arguments, status, outcome, jws IS NOT NULL AS signed FROM receipts WHERE workspace_id = $1`,
      ),
      entries: await ofWorkspace(
        `SELECT e.kind, e.call ->> 'tool' AS tool FROM turn_entries e JOIN turns t ON t.id = e.turn_id
         WHERE t.workspace_id = $1 ORDER BY e.number`,
      ),
    };
  }

  const savedOnce = (generation: number) => ({
    memories: [{ ...MEMORY, savedOnce: true }],
    shown: [{ tool: 'remember', state: 'completed' }],
    turns: [{ status: 'done', generation }],
    // One call per step. The second has the first one's instructions: the new memory is not among them.
    prompts: [prompts[0], prompts[0]],
    kept: [],
    receipts: [
      {
        tool: 'remember',
        effect: 'own',
        arguments: null,
        status: 'succeeded',
        outcome: 'Saved as “tea”.',
        signed: true,
      },
    ],
    entries: [
      { kind: 'step', tool: null },
      { kind: 'result', tool: 'remember' },
    ],
  });

  it('invariant 4: is saved once if the runtime is killed', async () => {
    await duringCall(async () => {
      killIfAlive(await services.runtimePid(client.workspaceId));
    });
    expect(await afterTurn()).toEqual(savedOnce(2));
  });

  it('invariant 4: is saved once if the orchestrator is killed', async () => {
    await services.addOrchestrator();
    await duringCall(() => services.orchestrators[0]!.stop('SIGKILL'));
    expect(await afterTurn()).toEqual(savedOnce(1));
  });
});
