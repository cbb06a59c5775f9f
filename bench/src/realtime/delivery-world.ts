import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { freePort } from '@uswarm/dev-servers';
import { migrate } from '@uswarm/orchestrator/migrate';
import { type CloseStack, silentLogger } from '@uswarm/service-kit';
import type { Place } from '../replay/script.js';
import { LONG_CONVERSATIONS } from '../settings.js';
import { orchestratorEnvironment } from '../world/environment.js';
import { readPlaces } from '../world/places.js';
import { startOrchestrator } from '../world/processes.js';
import { seed } from '../world/seed.js';
import { issueTokens, startServers } from '../world/world.js';
import { type GatewayProcess, startGateway } from './gateway-process.js';

/** Two gateways and an orchestrator, with conversations to send to. */
export interface DeliveryWorld {
  gateways: [sending: string, receiving: string];
  /** For their processor time. */
  pids: Record<'orchestrator' | 'sending' | 'receiving', number>;
  places: Place[];
  tokens: string[];
  signatureSecret: string;
}

const SEEDED = { workspaces: 240, messages: 20_000, conversation: 1_000 };
const POOL = 20;

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
  const gateway = (name: string): Promise<GatewayProcess> => {
    const settings = {
      INTERNAL_API_URL: `http://127.0.0.1:${internalPort}`,
      INTERNAL_API_KEY: environment['INTERNAL_API_KEY'] ?? '',
      REALTIME_REDIS_URL: valkey.url,
    };
    return startGateway({ environment: settings, logFile: join(folder, `${name}.log`) }, stack);
  };
  const [sending, receiving] = [await gateway('sending'), await gateway('receiving')];
  return {
    gateways: [sending.url, receiving.url],
    pids: { orchestrator: orchestrator.pid, sending: sending.pid, receiving: receiving.pid },
    places: (await readPlaces(databaseUrl)).slice(LONG_CONVERSATIONS),
    tokens: await issueTokens(issuer, SEEDED.workspaces),
    signatureSecret,
  };
}
