import { type ChildProcessByStdio, fork, spawn } from 'node:child_process';
import { createPrivateKey, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { migrate } from '@uswarm/orchestrator/migrate';
import { AgentRuntime } from '@uswarm/runtime-proto';
import { type CloseStack, parseSigningKey, signCallToken, signModelToken, silentLogger } from '@uswarm/service-kit';
import { freePort } from '@uswarm/dev-servers';
import { type RuntimeImage, WORKSPACE } from '../runtime/start-cases.js';
import { BenchError, readCommand } from '../settings.js';
import { orchestratorEnvironment } from '../world/environment.js';
import { answerOf, ended, endWithThisProcess, startOrchestrator } from '../world/processes.js';
import { seed, withClient } from '../world/seed.js';
import { startServers } from '../world/world.js';
import { FAST_MODEL, PACED_MODEL } from './answers.js';

const program = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Starts the model server in a separate process. @returns its URL, with `/v1` */
export async function startModel(stack: CloseStack): Promise<string> {
  const child = fork(program('model-main.js'));
  stack.defer('model server', () => ended(child));
  return (await answerOf<{ url: string }>(child)).url;
}

const models = (url: string): Record<string, string> => ({
  OPENAI_BASE_URL: url,
  OPENAI_API_KEY: 'bench-key',
  OPENAI_MODEL: FAST_MODEL,
  OPENAI_MODEL_SONNET: PACED_MODEL,
});

/** Waits for the line that reports that the process listens. */
async function firstLine(child: ChildProcessByStdio<null, Readable, null>, name: string): Promise<string> {
  const line = once(createInterface({ input: child.stdout }), 'line').then(([text]) => String(text));
  const exited = once(child, 'exit').then(() => undefined);
  const first = await Promise.race([line, exited]);
  if (first === undefined) throw new BenchError(`The ${name} exited before it listened.`);
  return first;
}

/** Environment for a runtime that calls the model server directly. */
export const directly = models;

/** Environment for a runtime in a cluster: it has no provider key, and each turn has a token. */
export const throughGateway = (origin: string): Record<string, string> => ({
  MODEL_GATEWAY_URL: origin,
  USWARM_DEFAULT_PROVIDER: 'openai',
});

/** Starts the image's runtime. */
export async function startRuntime(image: RuntimeImage, modelAccess: Record<string, string>, stack: CloseStack) {
  const env = { ...image.environment, ...modelAccess };
  const child = spawn(process.execPath, [image.main], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  endWithThisProcess(child);
  stack.defer('runtime', () => ended(child));
  const { port } = JSON.parse(await firstLine(child, 'runtime')) as { port: number };
  const key = createPrivateKey(image.callKey);
  const client = createClient(
    AgentRuntime,
    createGrpcTransport({
      baseUrl: `http://127.0.0.1:${port}`,
      interceptors: [
        (next) => async (request) => {
          const token = await signCallToken(key, { subject: 'orchestrator', audience: WORKSPACE });
          request.header.set('authorization', `Bearer ${token}`);
          return next(request);
        },
      ],
    }),
  );
  return { client, pid: child.pid ?? 0 };
}

/** The benchmark's calls exceed the smallest plan's token limit. */
const LARGE_PLAN = `UPDATE users SET plan_code = 'pro'`;

/** Makes one turn run, so that its model calls are accepted. */
const RUNNING_TURN = `
  UPDATE turns SET status = 'running' WHERE id = (SELECT id FROM turns ORDER BY id LIMIT 1)
  RETURNING id AS "turnId", workspace_id AS "workspaceId", agent_id AS "agentId"`;

export interface Gateway {
  /** Without a path. */
  origin: string;
  /** A new token for one running turn; the gateway accepts it for some minutes. */
  token(): Promise<string>;
}

/** Starts the gateway with an orchestrator and Postgres. */
export async function startGateway(modelUrl: string, folder: string, stack: CloseStack): Promise<Gateway> {
  const { postgres, valkey, issuer } = await startServers(folder, stack);
  const databaseUrl = await postgres.createDatabase('orchestrator');
  await migrate(databaseUrl, silentLogger);
  const command = readCommand(['--small']);
  if (command.do === 'run') await seed(databaseUrl, command.settings);
  const internalPort = String(await freePort());
  const secret = (): string => randomBytes(24).toString('hex');
  const environment: Record<string, string> = {
    ...orchestratorEnvironment({
      databaseUrl,
      redisUrl: valkey.url,
      issuer: issuer.issuer,
      signatureSecret: secret(),
      directory: join(folder, 'files'),
      pool: 20,
    }),
    INTERNAL_PORT: internalPort,
  };
  const orchestrator = await startOrchestrator(environment, join(folder, 'orchestrator.log'));
  stack.defer('orchestrator', orchestrator.close);
  const key = `bench:${secret()}`;
  const port = await freePort();
  const env = {
    ...models(modelUrl),
    NODE_ENV: 'production',
    HTTP_HOST: '127.0.0.1',
    HTTP_PORT: String(port),
    OPS_PORT: '0',
    INTERNAL_API_URL: `http://127.0.0.1:${internalPort}`,
    MODEL_CALLS_KEY: environment['MODEL_CALLS_KEY'] ?? '',
    MODEL_TOKEN_SIGNING_KEY: key,
    MODEL_CALLS_PER_MINUTE: '100000',
    SHUTDOWN_GRACE_S: '0',
  };
  const child = spawn(process.execPath, [program('../../../services/model-gateway/dist/main.js')], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  endWithThisProcess(child);
  stack.defer('model gateway', () => ended(child));
  await firstLine(child, 'model gateway');
  const { rows } = await withClient(databaseUrl, async (client) => {
    await client.query(LARGE_PLAN);
    return client.query<{ turnId: string; workspaceId: string; agentId: string }>(RUNNING_TURN);
  });
  const [turn] = rows;
  if (turn === undefined) throw new BenchError('The database has no turn.');
  const token = (): Promise<string> => signModelToken(parseSigningKey(key), { ...turn, purpose: 'turn' });
  return { origin: `http://127.0.0.1:${port}`, token };
}
