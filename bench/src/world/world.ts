import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createMemoryBus } from '@uswarm/event-bus';
import { createOrchestrator } from '@uswarm/orchestrator';
import { readConfig } from '@uswarm/orchestrator/config';
import { migrate } from '@uswarm/orchestrator/migrate';
import { CloseStack, createMetrics, silentLogger } from '@uswarm/service-kit';
import { type OidcIssuer, startOidcIssuer, startPostgres, startValkey } from '@uswarm/dev-servers';
import { request } from 'undici';
import { pathOf } from '../floor/floor-app.js';
import { bodyOf, createSigner } from '../load/generate.js';
import type { RequestSample } from '../load/job.js';
import { fullReads } from '../replay/plans.js';
import { startRecorder } from '../replay/record.js';
import type { Place } from '../replay/script.js';
import { BenchError, LONG_CONVERSATIONS, type Settings } from '../settings.js';
import { orchestratorEnvironment } from './environment.js';
import { readPlaces } from './places.js';
import { type Side, startFloor, startOrchestrator } from './processes.js';
import { type Ask, scriptReads, scriptSend } from './script-requests.js';
import { seed, settle, waitForRelay, withClient } from './seed.js';

/** The measured servers and their requests. */
export interface World {
  orchestrator: Side;
  floor: Side;
  requests: { history: RequestSample[]; search: RequestSample[]; send: RequestSample[] };
  tokens: string[];
  signatureSecret: string;
  /** The version of Postgres. */
  postgres: string;
  /** Empties both sides' queues between two measurements. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

/** Starts all servers and seeds the database. The floor uses a copy, so the sides do not affect each other. */
export async function startWorld(settings: Settings, folder: string, say: (line: string) => void): Promise<World> {
  const stack = new CloseStack(silentLogger);
  try {
    return await fillWorld(settings, folder, say, stack);
  } catch (error) {
    await stack.close();
    throw error;
  }
}

async function fillWorld(settings: Settings, folder: string, say: (line: string) => void, stack: CloseStack) {
  say('Starting Postgres and Valkey');
  const { postgres, valkey, issuer } = await startServers(folder, stack);
  const databaseUrl = await postgres.createDatabase('orchestrator');
  await migrate(databaseUrl, silentLogger);
  say(`Writing ${settings.messages} messages`);
  await seed(databaseUrl, settings);
  const places = await readPlaces(databaseUrl);
  const tokens = await issueTokens(issuer, settings.workspaces);
  const signatureSecret = randomBytes(24).toString('hex');
  const environment = orchestratorEnvironment({
    databaseUrl,
    redisUrl: valkey.url,
    issuer: issuer.issuer,
    signatureSecret,
    directory: join(folder, 'files'),
    pool: settings.pool,
  });

  say('Recording the statements of the orchestrator');
  const { script, requests, seen } = await lookAtOrchestrator(environment, { places, tokens, signatureSecret });
  const slow = await withClient(databaseUrl, (client) => fullReads(client, seen));
  if (slow.length > 0) throw new BenchError(`Sequential scan of a large table:\n${slow.join('\n')}`);
  await settle(databaseUrl);
  await withClient(postgres.url, (client) =>
    client.query('CREATE DATABASE floor TEMPLATE orchestrator STRATEGY file_copy'),
  );
  const floorUrl = databaseUrl.replace(/\/orchestrator$/, '/floor');

  const orchestrator = await startOrchestrator(environment, join(folder, 'orchestrator.log'));
  stack.defer('orchestrator', orchestrator.close);
  const floor = await startFloor({ ...script, databaseUrl: floorUrl, pool: settings.pool, places });
  stack.defer('floor', floor.close);
  const version = await withClient(postgres.url, (client) =>
    client.query<{ server_version: string }>('SHOW server_version'),
  );
  return {
    orchestrator,
    floor,
    requests,
    tokens,
    signatureSecret,
    postgres: version.rows[0]?.server_version ?? '',
    settle: async () => {
      await waitForRelay(databaseUrl);
      await settle(databaseUrl);
      await settle(floorUrl);
    },
    close: () => stack.close(),
  };
}

/** Starts the servers that an orchestrator needs. `folder` is emptied. */
export async function startServers(folder: string, stack: CloseStack) {
  const directory = join(folder, 'postgres');
  // From a killed run: only the server knows the folder of its data.
  if (existsSync(directory)) await (await startPostgres({ directory })).close({ remove: true });
  await rm(folder, { recursive: true, force: true });
  const postgres = await startPostgres({ directory });
  stack.defer('Postgres', () => postgres.close({ remove: true }));
  const valkey = await startValkey({ directory: join(folder, 'valkey') });
  stack.defer('Valkey', valkey.close);
  const issuer = await startOidcIssuer();
  stack.defer('issuer', issuer.close);
  return { postgres, valkey, issuer };
}

export async function issueTokens(issuer: OidcIssuer, users: number): Promise<string[]> {
  const tokens: string[] = [];
  for (let n = 1; n <= users; n += 1) {
    const person = { subject: `user-${n}`, email: `user-${n}@example.com`, name: `User ${n}` };
    tokens.push(await issuer.issueToken(person));
  }
  return tokens;
}

interface Known {
  places: Place[];
  tokens: string[];
  signatureSecret: string;
}

/** Sends every request once to an orchestrator in this process. */
async function lookAtOrchestrator(environment: Record<string, string>, { places, tokens, signatureSecret }: Known) {
  const orchestrator = await createOrchestrator({
    config: readConfig(environment),
    bus: createMemoryBus({ logger: silentLogger }),
    logger: silentLogger,
    metrics: createMetrics('bench'),
    version: 'bench',
    environment,
  });
  const recorder = await startRecorder(orchestrator.app);
  const credentials = createSigner(tokens, signatureSecret);
  const ask: Ask = async ({ method, path, user, text }, localId = '') => {
    const headers = { ...credentials(user), ...(text === undefined ? {} : { 'content-type': 'application/json' }) };
    const body = text === undefined ? null : bodyOf(text, localId);
    const answer = await request(`${recorder.url}${path}`, { method, headers, body });
    const said = await answer.body.text();
    if (answer.statusCode >= 300) throw new BenchError(`${method} ${path} returned ${answer.statusCode}: ${said}`);
    return JSON.parse(said) as unknown;
  };
  try {
    const long = places.slice(0, LONG_CONVERSATIONS);
    const { history, search, statements: reads } = await scriptReads(recorder, ask, long);
    const others = places.slice(LONG_CONVERSATIONS);
    const send = await scriptSend(recorder, ask, others);
    const texts = ['Could you read this, please?', 'And what about tomorrow?'];
    const sends = others.map((place, n): RequestSample => ({
      method: 'POST',
      path: pathOf(place),
      user: place.user,
      text: `${texts[n % texts.length] ?? ''} (${n})`,
    }));
    const seen = recorder.everyStatement();
    return { script: { reads, send }, requests: { history, search, send: sends }, seen };
  } finally {
    await recorder.close();
    await orchestrator.close();
  }
}
