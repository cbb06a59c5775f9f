import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DEVELOPMENT_CLIENT_ID, freePort, type OidcIssuer, startOidcIssuer } from '@uswarm/dev-servers';
import { createTestDatabase } from '@uswarm/testkit';
import { generateCallKeys } from '@uswarm/service-kit';
import pg from 'pg';
import { type Program, runProgram } from './program.js';

export interface SeparateServices {
  restUrl: string;
  socketUrl: string;
  issuer: OidcIssuer;
  orchestrators: Program[];
  gateway: Program;
  /** Base URLs of the operations ports of the first orchestrator and the gateway. */
  operations: { orchestrator: string; gateway: string };
  /** Starts another orchestrator on the same database. */
  addOrchestrator(): Promise<Program>;
  query<Row extends pg.QueryResultRow>(sql: string, values?: unknown[]): Promise<Row[]>;
  /** Blocks all statements that use the table. @returns ends it */
  lockTable(table: string): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

const secret = (): string => randomBytes(32).toString('hex');

async function listening(program: Program, message: string): Promise<Program> {
  await program.printed(new RegExp(message));
  return program;
}

const operationsOf = async (program: Program, pattern: RegExp): Promise<string> =>
  `http://127.0.0.1:${(await program.printed(pattern))[1]}`;

/** Orchestrator and gateway as separate processes, with the Postgres and, by default, the Valkey of the test run. */
export async function startSeparateServices(
  env: Record<string, string> = {},
  redis = process.env['TEST_REDIS_URL'] ?? '',
): Promise<SeparateServices> {
  const database = await createTestDatabase();
  const issuer = await startOidcIssuer();
  const [restPort, internalPort, socketPort] = [await freePort(), await freePort(), await freePort()];
  const internalKey = `test:${secret()}`;
  const orchestratorEnv = {
    DATABASE_URL: database.url,
    REALTIME_REDIS_URL: redis,
    OIDC_ISSUERS: JSON.stringify([{ issuer: issuer.issuer, audience: DEVELOPMENT_CLIENT_ID }]),
    SIGNATURE_MODE: 'off',
    INTERNAL_API_KEY: internalKey,
    CURSOR_KEY: secret(),
    IDENTITY_HASH_KEY: secret(),
    CALL_PRIVATE_KEY: generateCallKeys().privateKey,
    OBJECT_STORE: 'file',
    OBJECT_DIRECTORY: join(tmpdir(), 'uswarm-test-objects'),
    RUNTIME_DRIVER: 'process',
    RUNTIME_PROGRAM: fileURLToPath(new URL('../../agent-runtime/dist/main.js', import.meta.url)),
    HTTP_HOST: '127.0.0.1',
    INTERNAL_HOST: '127.0.0.1',
    OPS_PORT: '0',
    ...env,
  };
  const runOrchestrator = (http: number, internal: number): Promise<Program> =>
    listening(
      runProgram('services/orchestrator/dist/main.js', [], {
        ...orchestratorEnv,
        HTTP_PORT: String(http),
        INTERNAL_PORT: String(internal),
      }),
      'listening',
    );
  const orchestrators = [await runOrchestrator(restPort, internalPort)];
  const gateway = await listening(
    runProgram('services/realtime-gateway/dist/main.js', [], {
      GATEWAY_HOST: '127.0.0.1',
      GATEWAY_PORT: String(socketPort),
      OPS_PORT: '0',
      INTERNAL_API_URL: `http://127.0.0.1:${internalPort}`,
      INTERNAL_API_KEY: internalKey,
      REALTIME_REDIS_URL: redis,
    }),
    'serving /socket.io/',
  );
  const operations = {
    orchestrator: await operationsOf(orchestrators[0]!, /"opsPort":(\d+)/),
    gateway: await operationsOf(gateway, /"ops_port":(\d+)/),
  };
  const pool = new pg.Pool({ connectionString: database.url, max: 2 });
  // Dropping the database can end a connection before the pool has closed it.
  pool.on('error', () => undefined);

  return {
    restUrl: `http://127.0.0.1:${restPort}`,
    socketUrl: `http://127.0.0.1:${socketPort}`,
    issuer,
    orchestrators,
    gateway,
    operations,
    async addOrchestrator() {
      const program = await runOrchestrator(0, 0);
      orchestrators.push(program);
      return program;
    },
    query: async (sql, values) => (await pool.query(sql, values)).rows as never,
    async lockTable(table) {
      const connection = await pool.connect();
      await connection.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
      return async () => {
        await connection.query('ROLLBACK');
        connection.release();
      };
    },
    async close() {
      await gateway.stop();
      await Promise.all(orchestrators.map((program) => program.stop()));
      const { rows } = await pool.query<{ pid: number }>('SELECT pid FROM runtime_processes');
      for (const { pid } of rows) killIfAlive(pid);
      await pool.end();
      await issuer.close();
      await database.drop();
    },
  };
}

export function killIfAlive(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has ended.
  }
}
