import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { generateCallKeys } from '@uswarm/service-kit';
import { BenchError } from '../settings.js';
import type { StartCase } from './measure-start.js';

const inRepository = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

/** Program in the runtime image. */
export interface RuntimeImage {
  /** Program folder. */
  app: string;
  main: string;
  /** Runtime settings, without the image's. */
  settings: Record<string, string>;
  /** `settings` and the image's environment. */
  environment: Record<string, string>;
  /** Signs calls to the runtime. */
  callKey: string;
}

/** The measured runtimes' workspace. */
export const WORKSPACE = 'bench';

/** Writes the runtime image's content to `folder`. */
export async function writeRuntimeImage(folder: string): Promise<RuntimeImage> {
  const writer = inRepository('hack/images/write-content.mjs');
  await promisify(execFile)(process.execPath, [writer, 'agent-runtime', folder, 'compile-cache']);
  const app = join(folder, 'app');
  const keys = generateCallKeys();
  const settings = {
    NODE_ENV: 'production',
    MALLOC_ARENA_MAX: '2',
    USWARM_WORKSPACE_ID: WORKSPACE,
    USWARM_USER_ID: 'bench',
    USWARM_RUNTIME_HOST: '127.0.0.1',
    USWARM_RUNTIME_PORT: '0',
    USWARM_CALL_PUBLIC_KEY: keys.publicKey,
  };
  const environment = {
    ...settings,
    // Same value as in hack/images/services.mjs.
    NODE_OPTIONS: '--max-semi-space-size=1 --expose-gc',
    NODE_COMPILE_CACHE: join(app, 'compile-cache'),
    NODE_COMPILE_CACHE_PORTABLE: '1',
  };
  return { app, main: join(app, 'dist/main.js'), settings, environment, callKey: keys.privateKey };
}

/** An HTTP server without other code: what every Node.js program needs. */
export const BARE_NODE: StartCase = {
  name: 'bare Node',
  args: [inRepository('bench/dist/runtime/bare-main.js')],
  env: { NODE_ENV: 'production' },
};

/** Writes the runtime image's content to `folder`. @returns the starts to compare; the first is Node.js alone */
export async function startCases(folder: string): Promise<StartCase[]> {
  const { app, main, settings, environment: cached } = await writeRuntimeImage(folder);
  const provider = ['--import', partOf(app, 'openai-compatible')];
  const tools = ['--import', partOf(app, 'mcp')];
  return [
    BARE_NODE,
    { name: 'unbundled', args: [inRepository('services/agent-runtime/dist/main.js')], env: settings },
    { name: 'bundle', args: [main], env: settings },
    { name: 'image (bundle, compile cache)', args: [main], env: cached },
    { name: 'image, source maps on', args: ['--enable-source-maps', main], env: cached },
    { name: 'image, provider loaded', args: [...provider, main], env: cached },
    { name: 'image, provider and tools loaded', args: [...provider, ...tools, main], env: cached },
  ];
}

/** A lazily loaded module's file. */
function partOf(app: string, name: string): string {
  const found = readdirSync(join(app, 'dist')).find((file) => file.startsWith(`main-${name}-`) && file.endsWith('.js'));
  if (found === undefined) throw new BenchError(`The bundle of the runtime has no module "${name}".`);
  return join(app, 'dist', found);
}
