import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createPrivateKey, sign } from 'node:crypto';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Client, createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { AgentRuntime, health } from '@uswarm/runtime-proto';
import { generateCallKeys, signCallToken } from '@uswarm/service-kit';
import { programFile } from '@uswarm/testkit/program-file';

const packageDir = fileURLToPath(new URL('..', import.meta.url));
const tsc = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url));

/** Builds `dist` from the current sources. */
export async function buildRuntime(): Promise<void> {
  await promisify(execFile)(process.execPath, [tsc, '--build', packageDir]);
}

export const WORKSPACE = '0192f0c1-7b1e-7000-8000-000000000001';

const keys = generateCallKeys();
const privateKey = createPrivateKey(keys.privateKey);

/** A token with the same signature as the orchestrator's. */
export const callToken = (audience = WORKSPACE): Promise<string> =>
  signCallToken(privateKey, { subject: 'orchestrator', audience });

/** A token with the right key and audience that expired a minute ago. */
export function expiredToken(audience = WORKSPACE): string {
  const now = Math.floor(Date.now() / 1000);
  const claims = { sub: 'orchestrator', aud: audience, iat: now - 120, exp: now - 60 };
  const signed = [{ alg: 'EdDSA' }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  return `${signed}.${sign(null, Buffer.from(signed), privateKey).toString('base64url')}`;
}

export interface RuntimeProcess {
  child: ChildProcess;
  port: number;
  /** Standard output so far. */
  stdout: readonly string[];
  runtime: Client<typeof AgentRuntime>;
  health: Client<typeof health.Health>;
  /** The log so far. */
  log(): string;
  /** A client with this header instead of a valid token. */
  clientWith(authorization: string | undefined): Client<typeof AgentRuntime>;
  /** Resolves with exit code and signal. */
  exited: Promise<[number | null, NodeJS.Signals | null]>;
  /** Kills the process if it still runs. */
  end(): Promise<void>;
}

/** Starts the built program, or the one in `folder`, like local mode, and waits until it listens. */
export async function startRuntimeProcess(env: Record<string, string> = {}, folder?: string): Promise<RuntimeProcess> {
  const program =
    folder === undefined ? programFile('services/agent-runtime/dist/main.js') : path.join(folder, 'dist/main.js');
  const child = spawn(process.execPath, [program], {
    cwd: folder ?? packageDir,
    // Without the environment of this machine: a key in it would select another provider.
    env: {
      USWARM_WORKSPACE_ID: WORKSPACE,
      USWARM_USER_ID: 'user',
      USWARM_RUNTIME_HOST: '127.0.0.1',
      USWARM_RUNTIME_PORT: '0',
      USWARM_CALL_PUBLIC_KEY: keys.publicKey,
      USWARM_DEMO_DELAY_MS: '0',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit') as RuntimeProcess['exited'];
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (log += text));
  const stdout: string[] = [];
  const lines = createInterface({ input: child.stdout }).on('line', (line) => stdout.push(line));
  await Promise.race([once(lines, 'line'), exited]);
  const [line] = stdout;
  if (line === undefined) throw new Error(`the runtime did not start:\n${log}`);
  const { port } = JSON.parse(line) as { port: number };
  const baseUrl = `http://127.0.0.1:${port}`;

  const clientWith = (authorize: () => Promise<string | undefined>): Client<typeof AgentRuntime> =>
    createClient(
      AgentRuntime,
      createGrpcTransport({
        baseUrl,
        // As the orchestrator.
        nodeOptions: { maxSessionMemory: 64 },
        interceptors: [
          (next) => async (request) => {
            const value = await authorize();
            if (value !== undefined) request.header.set('authorization', value);
            return next(request);
          },
        ],
      }),
    );

  return {
    child,
    port,
    stdout,
    runtime: clientWith(async () => `Bearer ${await callToken()}`),
    health: createClient(health.Health, createGrpcTransport({ baseUrl })),
    clientWith: (authorization) => clientWith(() => Promise.resolve(authorization)),
    log: () => log,
    exited,
    async end() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
