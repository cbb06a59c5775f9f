import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '@uswarm/dev-servers';
import { migrate } from '@uswarm/orchestrator/migrate';
import { type CloseStack, silentLogger } from '@uswarm/service-kit';
import type pg from 'pg';
import { request } from 'undici';
import { createSigner } from '../load/generate.js';
import { BenchError } from '../settings.js';
import { orchestratorEnvironment } from '../world/environment.js';
import { answerOf, ended, startOrchestrator } from '../world/processes.js';
import { withClient } from '../world/seed.js';
import { startServers } from '../world/world.js';
import { createObservations, type Observation, type Observations } from './observations.js';
import { type BenchUser, signUp } from './users.js';

/** The workspaces, each with a runtime. */
const USERS = 5;
/** The concurrent turns per workspace, each in its own conversation. */
export const TURNS_PER_USER = 60;

/** Orchestrator, runtimes and the servers around them. */
export interface TurnWorld {
  users: readonly BenchUser[];
  observations: Observations;
  orchestratorPid: number;
  query<Row extends pg.QueryResultRow>(sql: string, values?: unknown[]): Promise<Row[]>;
  /** Orchestrator metrics by name. Reading them restarts the event-loop lag measurement. */
  metrics(): Promise<Map<string, number>>;
  /** Tokens that the model server has sent. */
  tokensSent(): Promise<number>;
}

interface Peers {
  child: ChildProcess;
  modelUrl: string;
  toolUrl: string;
}

async function startPeers(signingKey: string, stack: CloseStack): Promise<Peers> {
  const child = fork(fileURLToPath(new URL('peers-main.js', import.meta.url)), {
    env: { ...process.env, SVC_MCP_SIGNING_KEY: signingKey },
  });
  stack.defer('model server and tool server', () => ended(child));
  return { child, ...(await answerOf<{ modelUrl: string; toolUrl: string }>(child)) };
}

/** `program`: the runtime's entry point. `folder` is emptied. */
export async function startTurnWorld(program: string, folder: string, stack: CloseStack): Promise<TurnWorld> {
  const signingKey = `bench:${randomBytes(24).toString('hex')}`;
  const { child, modelUrl, toolUrl } = await startPeers(signingKey, stack);
  const observations = createObservations();
  child.on('message', (message: Observation | { tokens: number }) => {
    if ('what' in message) observations.add(message);
  });
  const { postgres, valkey, issuer } = await startServers(folder, stack);
  const databaseUrl = await postgres.createDatabase('orchestrator');
  await migrate(databaseUrl, silentLogger);
  const query: TurnWorld['query'] = async (sql, values) =>
    (await withClient(databaseUrl, (client) => client.query(sql, values))).rows as never;
  // The runtimes outlive the orchestrator.
  stack.defer('runtimes', () => killRuntimes(query));

  const signatureSecret = randomBytes(24).toString('hex');
  const opsPort = await freePort();
  const orchestrator = await startOrchestrator(
    {
      ...orchestratorEnvironment({
        databaseUrl,
        redisUrl: valkey.url,
        issuer: issuer.issuer,
        signatureSecret,
        directory: join(folder, 'files'),
        pool: 20,
      }),
      OPS_PORT: String(opsPort),
      RUNTIME_PROGRAM: program,
      RUNTIME_WORKERS: '16',
      IDLE_SUSPEND_AFTER_S: '0',
      TURN_WORKERS: String(USERS * TURNS_PER_USER),
      TURNS_PER_USER: String(TURNS_PER_USER),
      SUMMARY_WORKERS: '0',
      SVC_MCP_ENDPOINT: toolUrl,
      SVC_MCP_SIGNING_KEY: signingKey,
      OPENAI_BASE_URL: modelUrl,
      OPENAI_API_KEY: 'bench-key',
      OPENAI_MODEL: 'scripted',
    },
    join(folder, 'orchestrator.log'),
  );
  stack.defer('orchestrator', orchestrator.close);

  const people = Array.from({ length: USERS }, (_, n) => ({ subject: `user-${n}`, email: `user-${n}@example.com` }));
  const tokens = await Promise.all(people.map((person) => issuer.issueToken({ ...person, name: 'Ada' })));
  const sign = createSigner(tokens, signatureSecret);
  const users = await Promise.all(
    tokens.map((token, n) => signUp(orchestrator.url, { token, headers: () => sign(n) }, TURNS_PER_USER)),
  );
  // The benchmark's turns exceed the smallest plan's token limit.
  await query(`UPDATE users SET plan_code = 'pro'`);
  await runtimesReady(query);
  return {
    users,
    observations,
    orchestratorPid: orchestrator.pid,
    query,
    metrics: () => readMetrics(`http://127.0.0.1:${opsPort}/metrics`),
    async tokensSent() {
      const answer = (async () => {
        for (;;) {
          const [message] = (await once(child, 'message')) as [Observation | { tokens: number }];
          if ('tokens' in message) return message.tokens;
        }
      })();
      child.send('tokens');
      return answer;
    },
  };
}

const READY_WITHIN_MS = 60_000;

async function runtimesReady(query: TurnWorld['query']): Promise<void> {
  const deadline = performance.now() + READY_WITHIN_MS;
  while ((await query(`SELECT FROM runtimes WHERE phase <> 'Ready' OR address IS NULL`)).length > 0) {
    if (performance.now() > deadline) throw new BenchError('The runtimes did not become ready in time.');
    await sleep(100);
  }
}

async function killRuntimes(query: TurnWorld['query']): Promise<void> {
  for (const { pid } of await query<{ pid: number }>('SELECT pid FROM runtime_processes')) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
}

async function readMetrics(url: string): Promise<Map<string, number>> {
  const { body } = await request(url);
  const lines = (await body.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const [name = '', value] = line.split(/(?:\{[^}]*\})? (?=\S+$)/);
      return [name, Number(value)];
    }),
  );
}
