import { freePort } from '@uswarm/dev-servers';
import { type Program, runProgram } from './program.js';
import { gatewayEnvironment, listening, type SeparateServices } from './separate.js';

export interface FurtherGateway {
  program: Program;
  port: number;
  url: string;
  /** Readiness status. */
  readiness(): Promise<number>;
  metrics(): Promise<string>;
}

/** Starts another gateway beside the services' own. */
export async function startFurtherGateway(
  services: Pick<SeparateServices, 'internal'>,
  { port, ...env }: { port?: number } & Record<string, string | number> = {},
): Promise<FurtherGateway> {
  const bound = port ?? (await freePort());
  const program = runProgram('services/realtime-gateway/dist/main.js', [], {
    ...gatewayEnvironment({
      internalPort: Number(new URL(services.internal.url).port),
      redis: process.env['TEST_REDIS_URL'] ?? '',
      secrets: { internalKey: services.internal.key },
    }),
    GATEWAY_PORT: String(bound),
    ...(env as Record<string, string>),
  });
  await listening(program, 'serving /socket.io/');
  const [, ops] = await program.printed(/"ops_port":(\d+)/);
  const get = (path: string) => fetch(`http://127.0.0.1:${ops}${path}`);
  return {
    program,
    port: bound,
    url: `http://127.0.0.1:${bound}`,
    readiness: async () => (await get('/readyz')).status,
    metrics: async () => (await get('/metrics')).text(),
  };
}
