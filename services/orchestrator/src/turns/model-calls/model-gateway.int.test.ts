import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type ModelScript, type ModelServer, startModelServer } from '@uswarm/dev-servers';
import {
  createModelCallClient,
  createModelGateway,
  createModelGatewayMetrics,
  loadModelGatewayConfig,
} from '@uswarm/model-gateway';
import { createMetrics, listen, parseSigningKey, type RunningServer, silentLogger } from '@uswarm/service-kit';
import { createTestTurnWorker } from '../../../test/turn-fixture.js';
import { startTestOrchestrator, type TestOrchestrator } from '../../../test/test-orchestrator.js';
import { createModelTokens } from './model-tokens.js';

const TOKEN_KEY = `m1:${'m'.repeat(32)}`;
const GATEWAY_PROGRAM = fileURLToPath(new URL('../../../../model-gateway/dist/main.js', import.meta.url));
const LIMIT = 20_000;
const MAX_OUTPUT = 1_000;
/** Tokens per call. */
const BILLED = { prompt: 50, completion: 900 };
const CALL = {
  model: 'sonnet',
  stream: true,
  messages: [{ role: 'user', content: 'as much as possible' }],
  max_tokens: MAX_OUTPUT,
};
const ESTIMATE = Math.ceil(Buffer.byteLength(JSON.stringify(CALL)) / 3) + MAX_OUTPUT;

describe('the model gateway with an orchestrator', () => {
  let uswarm: TestOrchestrator;
  let model: ModelServer;
  let script: ModelScript;
  let token: string;
  let turnId: string;
  const directory = mkdtempSync(path.join(tmpdir(), 'uswarm-plans-'));
  beforeAll(async () => {
    const plansFile = path.join(directory, 'plans.json');
    const plan = { code: 'free', name: 'Free', token_limit: LIMIT, workspace_token_limit: LIMIT };
    writeFileSync(plansFile, JSON.stringify([plan]));
    uswarm = await startTestOrchestrator({ environment: { PLANS_FILE: plansFile } });
    model = await startModelServer({ script: (...asked) => script(...asked) });
  });
  afterAll(async () => {
    await model.close();
    await uswarm.close();
    rmSync(directory, { recursive: true });
  });
  beforeEach(async () => {
    await uswarm.database.deleteFrom('work').where('kind', '=', 'turn').execute();
    const user = await uswarm.user();
    const home = await uswarm.home(user);
    await user.post(home.messages, { content: { type: 'text', text: 'hi' }, local_id: crypto.randomUUID() }, 201);
    const turnWorker = createTestTurnWorker(uswarm.database);
    const job = await turnWorker.claim();
    await (await turnWorker.writerOf(job)).begin();
    const turn = await turnWorker.turnOf(job);
    turnId = turn.id;
    const named = { workspaceId: turn.workspace_id, agentId: turn.agent_id, turnId, purpose: 'turn' } as const;
    token = await createModelTokens(parseSigningKey(TOKEN_KEY))(named);
  });

  const environment = () => ({
    MODEL_TOKEN_SIGNING_KEY: TOKEN_KEY,
    INTERNAL_API_URL: uswarm.internalUrl,
    MODEL_CALLS_KEY: uswarm.modelCallsKey,
    OPENAI_BASE_URL: model.baseUrl,
    OPENAI_API_KEY: 'key-of-this-test',
    OPENAI_MODEL: 'scripted',
    MODEL_CALLS_PER_MINUTE: '10000',
    MODEL_CALLS_CONCURRENT: '50',
  });
  const call = (url: string) =>
    fetch(`${url}/openai/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(CALL),
    });
  const entries = () => uswarm.database.selectFrom('usage_entries').selectAll().where('turn_id', '=', turnId).execute();

  async function withGateway(run: (gateway: RunningServer) => Promise<void>): Promise<void> {
    const config = loadModelGatewayConfig(environment());
    const calls = createModelCallClient(config.internalApi);
    const metrics = createModelGatewayMetrics(createMetrics('model-gateway'));
    const gateway = createModelGateway({ config, calls, metrics, logger: silentLogger });
    const http = await listen(gateway.handler, { host: '127.0.0.1', port: 0 });
    try {
      await run(http);
    } finally {
      await http.close();
      await gateway.close();
      await calls.close();
    }
  }

  it('lets a compromised client with 50 parallel loops spend at most the limit and one estimate', async () => {
    script = () => [{ text: 'words' }, { usage: BILLED }];
    const before = { ...model.usageReported };
    await withGateway(async ({ url }) => {
      const loop = async (): Promise<number> => {
        for (let made = 0; ; made += 1) {
          const response = await call(url);
          await response.text();
          if (response.status === 402) return made;
          expect(response.status).toBe(200);
        }
      };
      const made = await Promise.all(Array.from({ length: 50 }, loop));
      expect(made.reduce((sum, each) => sum + each, 0)).toBe(model.usageReported.answers - before.answers);
    });
    const { promptTokens, completionTokens } = model.usageReported;
    const billed = promptTokens - before.promptTokens + completionTokens - before.completionTokens;
    expect(billed).toBeLessThan(LIMIT + ESTIMATE);
    const rows = await entries();
    expect(rows.every(({ estimated }) => !estimated)).toBe(true);
    expect(rows.reduce((sum, row) => sum + row.prompt_tokens + row.completion_tokens, 0)).toBe(billed);
  });

  it('leaves the estimate of a call if it is killed', async () => {
    script = () => [{ text: 'words' }, { hang: true }];
    const gateway = spawn(process.execPath, [GATEWAY_PROGRAM], {
      env: { ...environment(), HTTP_HOST: '127.0.0.1', HTTP_PORT: '0', OPS_PORT: '0' },
    });
    const [line] = (await once(createInterface(gateway.stdout), 'line')) as [string];
    const response = await call(`http://127.0.0.1:${(JSON.parse(line) as { port: number }).port}`);
    const reader = response.body!.getReader();
    await reader.read();
    gateway.kill('SIGKILL');
    await once(gateway, 'exit');
    await expect(reader.read().then(() => reader.read())).rejects.toThrow();
    const rows = await entries();
    expect(rows).toMatchObject([
      { prompt_tokens: ESTIMATE - MAX_OUTPUT, completion_tokens: MAX_OUTPUT, estimated: true, model: 'scripted' },
    ]);
  });
});
