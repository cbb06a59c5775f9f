import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

const packageFolder = join(import.meta.dirname, '..');

/** Runs a program with the built package, after another module if `preload` names one. @returns its JSON lines */
async function run(program: string, env: Record<string, string> = {}, preload?: string) {
  const preloaded = preload === undefined ? [] : ['--import', preload];
  const child = spawn(process.execPath, [...preloaded, '--input-type=module', '--eval', program], {
    cwd: packageFolder,
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const lines = (await text(child.stdout)).split('\n').filter((line) => line !== '');
  expect(await ended).toEqual([0, null]);
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** Prints the loaded packages of OpenTelemetry and the trace id of a span. */
const PROGRAM = `
  import { createRequire } from 'node:module';
  import { currentTraceId, inSpan } from '@uswarm/service-kit';
  import { startTracing } from '@uswarm/service-kit/start-tracing';
  const say = (line) => console.log(JSON.stringify(line));
  const end = await startTracing('test', { warn: (fields, message) => say({ ...fields, warning: message }) });
  const traceId = await inSpan('question', {}, async () => currentTraceId());
  const files = Object.keys(createRequire(import.meta.url).cache);
  const packages = files.flatMap((file) => /node_modules.@opentelemetry.([^\\\\/]+)/.exec(file)?.[1] ?? []);
  say({ started: end !== undefined, traceId, packages: [...new Set(packages)] });
`;
const END = `
  const before = performance.now();
  await end?.();
  say({ endedWithin: performance.now() - before });
  process.exit(0);
`;

describe('the start of tracing', () => {
  it.each([
    ['no variable names a collector', {}],
    ['the variable is empty', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }],
    ['the SDK is disabled', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_SDK_DISABLED: 'true' }],
    ['there is no exporter', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_TRACES_EXPORTER: 'none' }],
  ])('loads nothing but the API if %s', async (_why, env) => {
    expect(await run(PROGRAM + END, env as Record<string, string>)).toMatchObject([
      { started: false, packages: ['api'] },
      {},
    ]);
  });

  it('loads the SDK if a variable names a collector, and writes one line while it is unreachable', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as AddressInfo;
    closed.close();
    const many = `for (let i = 0; i < 5_000; i += 1) await inSpan('more', {}, async () => undefined);`;
    const batches = `const { setTimeout: sleep } = await import('node:timers/promises'); await sleep(300);`;
    const lines = await run(PROGRAM + many + batches + many + END, {
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `http://127.0.0.1:${port}/v1/traces`,
      OTEL_BSP_SCHEDULE_DELAY: '10',
      OTEL_EXPORTER_OTLP_TIMEOUT: '100',
    });
    expect(lines.find(({ started }) => started !== undefined)).toMatchObject({
      started: true,
      traceId: expect.stringMatching(/^[\da-f]{32}$/),
      packages: expect.arrayContaining(['sdk-trace-node']),
    });
    expect(lines.filter(({ warning }) => warning !== undefined)).toHaveLength(1);
  });

  it('sends the headers in the file that a variable names', async () => {
    const sent = Promise.withResolvers<{ path: string | undefined; authorization: string | undefined }>();
    const collector = createServer(({ url, headers: { authorization } }, response) => {
      sent.resolve({ path: url, authorization });
      response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
    }).listen(0, '127.0.0.1');
    await once(collector, 'listening');
    const { port } = collector.address() as AddressInfo;
    const folder = mkdtempSync(join(tmpdir(), 'uswarm-headers-'));
    writeFileSync(join(folder, 'headers'), 'authorization=Bearer%20secret\n');
    await run(PROGRAM + END, {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_HEADERS_FILE: join(folder, 'headers'),
    });
    expect(await sent.promise).toEqual({ path: '/v1/traces', authorization: 'Bearer secret' });
    collector.close();
    rmSync(folder, { recursive: true });
  });

  it('ends within two seconds if the collector accepts connections and never answers', async () => {
    const silent = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const lines = await run(PROGRAM + END, { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` });
    silent.closeAllConnections();
    silent.close();
    const within = Number(lines.at(-1)?.['endedWithin']);
    expect(within).toBeGreaterThanOrEqual(1_900);
    expect(within).toBeLessThan(4_000);
  });
});

describe('an SDK that was loaded before the program', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'uswarm-foreign-sdk-'));
    copyPackage('@opentelemetry/sdk-trace-node', createRequire(join(packageFolder, 'package.json')));
    writeFileSync(
      join(folder, 'register.mjs'),
      `import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
       const exporter = new InMemorySpanExporter();
       new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register();
       process.on('exit', () => {
         console.log(JSON.stringify({ exported: exporter.getFinishedSpans().map(({ name }) => name) }));
       });`,
    );
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** Copies a package and its dependencies of OpenTelemetry, so that the API is a second one. */
  function copyPackage(name: string, from: NodeJS.Require): void {
    const found = realpathSync(packageFolderOf(name, from));
    const target = join(folder, 'node_modules', name);
    cpSync(found, target, { recursive: true, filter: (file) => !file.slice(found.length).includes('node_modules') });
    const manifest = join(found, 'package.json');
    const required = createRequire(manifest);
    const { dependencies = {}, peerDependencies = {} } = required(manifest) as Record<string, Record<string, string>>;
    for (const one of Object.keys({ ...dependencies, ...peerDependencies }))
      if (one.startsWith('@opentelemetry/')) copyPackage(one, required);
  }

  const packageFolderOf = (name: string, from: NodeJS.Require): string => {
    const file = from.resolve(name);
    return file.slice(0, file.lastIndexOf(join('node_modules', name))) + join('node_modules', name);
  };

  it('gets the spans through its own copy of API 1.9.0, and ours is not loaded', async () => {
    const api = createRequire(join(folder, 'register.mjs'));
    const { version } = api(join(dirname(api.resolve('@opentelemetry/api')), '../../package.json')) as {
      version: string;
    };
    expect(version).toBe('1.9.0');
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' };
    const [result, , exported] = await run(PROGRAM + END, env, join(folder, 'register.mjs'));
    expect(result).toMatchObject({ started: false, traceId: expect.stringMatching(/^[\da-f]{32}$/) });
    expect(exported).toEqual({ exported: ['question'] });
  });
});
