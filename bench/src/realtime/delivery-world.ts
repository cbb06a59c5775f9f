import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '@uswarm/dev-servers';
import { migrate } from '@uswarm/orchestrator/migrate';
import { type CloseStack, silentLogger } from '@uswarm/service-kit';
import type { Place } from '../replay/script.js';
import { BenchError, LONG_CONVERSATIONS } from '../settings.js';
import { orchestratorEnvironment } from '../world/environment.js';
import { readPlaces } from '../world/places.js';
import { endWithThisProcess, ended, startOrchestrator } from '../world/processes.js';
import { seed } from '../world/seed.js';
import { issueTokens, startServers } from '../world/world.js';

/** Two gateways and an orchestrator, with conversations to send to. */
export interface DeliveryWorld {
  gateways: [sending: string, receiving: string];
  places: Place[];
  tokens: string[];
  signatureSecret: string;
}

const SEEDED = { workspaces: 240, messages: 20_000, conversation: 1_000 };
const POOL = 20;
const START_DEADLINE_MS = 30_000;

export async function startDeliveryWorld(folder: string, stack: CloseStack): Promise<DeliveryWorld> {
  const { postgres, valkey, issuer } = await startServers(folder, stack);
  const databaseUrl = await postgres.createDatabase('orchestrator');
  await migrate(databaseUrl, silentLogger);
  await seed(databaseUrl, SEEDED);
  const signatureSecret = randomBytes(24).toString('hex');
  const internalPort = String(await freePort());
  const environment: Record<string, string> = {
    ...orchestratorEnvironment({
      databaseUrl,
      redisUrl: valkey.url,
      issuer: issuer.issuer,
      signatureSecret,
      directory: join(folder, 'files'),
      pool: POOL,
    }),
    INTERNAL_PORT: internalPort,
  };
  const orchestrator = await startOrchestrator(environment, join(folder, 'orchestrator.log'));
  stack.defer('orchestrator', orchestrator.close);
  const gateway = (name: string): Promise<string> =>
    startGateway(
      {
        INTERNAL_API_URL: `http://127.0.0.1:${internalPort}`,
        INTERNAL_API_KEY: environment['INTERNAL_API_KEY'] ?? '',
        REALTIME_REDIS_URL: valkey.url,
      },
      join(folder, `${name}.log`),
      stack,
    );
  return {
    gateways: [await gateway('sending'), await gateway('receiving')],
    places: (await readPlaces(databaseUrl)).slice(LONG_CONVERSATIONS),
    tokens: await issueTokens(issuer, SEEDED.workspaces),
    signatureSecret,
  };
}

async function startGateway(env: Record<string, string>, logFile: string, stack: CloseStack): Promise<string> {
  const [port, opsPort] = [await freePort(), await freePort()];
  const main = fileURLToPath(new URL('../../../services/realtime-gateway/dist/main.js', import.meta.url));
  const log = openSync(logFile, 'w');
  const settings = { GATEWAY_HOST: '127.0.0.1', GATEWAY_PORT: String(port), OPS_PORT: String(opsPort) };
  const child = spawn(process.execPath, [main], {
    env: { ...env, ...settings, NODE_ENV: 'production' },
    stdio: ['ignore', log, log],
  });
  endWithThisProcess(child);
  stack.defer('gateway', () => ended(child));
  const deadline = performance.now() + START_DEADLINE_MS;
  while (!(await isReady(`http://127.0.0.1:${opsPort}/readyz`))) {
    if (child.exitCode !== null || performance.now() > deadline) {
      throw new BenchError(`A gateway did not start, see ${logFile}.`);
    }
    await sleep(100);
  }
  return `http://127.0.0.1:${port}`;
}

const isReady = async (url: string): Promise<boolean> => {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
};
