import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { startLimitedProcess } from '@uswarm/service-kit/limited-process';
import { type Escape, javascriptEscapes, nativeEscapes, pythonEscapes, type Targets } from '../test/escapes.js';
import { createCodeRunner, type CodeResult, type Language } from './index.js';

const VARIABLE = 'USWARM_CANARY';
const ENOUGH_MS = 240_000;
jest.setTimeout(ENOUGH_MS);

/** One secret per way out. */
const secrets = { environment: randomUUID(), file: randomUUID(), network: randomUUID() };
const folder = mkdtempSync(join(tmpdir(), 'code-escapes-'));
/** A process can read the folder of its program. */
const programs = join(folder, 'programs');
const targets: Targets = {
  variable: VARIABLE,
  file: join(folder, 'elsewhere/canary.txt'),
  port: 0,
  mark: join(folder, 'elsewhere/mark'),
  parent: process.pid,
};
let server: Server;
let connections = 0;

beforeAll(async () => {
  for (const name of ['programs', 'elsewhere']) mkdirSync(join(folder, name));
  writeFileSync(targets.file, secrets.file);
  server = createServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined);
    // Also an answer to HTTP.
    socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${secrets.network.length}\r\n\r\n${secrets.network}`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  targets.port = (server.address() as AddressInfo).port;
});
beforeEach(() => {
  connections = 0;
  rmSync(targets.mark, { force: true });
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

function leaksIn(output: string): string[] {
  const found = Object.entries(secrets).filter(([, secret]) => output.includes(secret));
  // The parent's environment has at least a path.
  const patterns = Object.entries({ passwd: /root:[^:]*:0:0/, variables: /\bPATH=\// });
  const matching = patterns.filter(([, pattern]) => pattern.test(output));
  return [...found, ...matching].map(([name]) => name);
}

/** The output of each attempt, by its name. */
function byAttempt(output: string, attempts: readonly Escape[]): Record<string, string> {
  const parts = output.split(/^=== (.*)$/m).slice(1);
  const found = new Map<string, string>();
  for (let at = 0; at + 1 < parts.length; at += 2) found.set(parts[at] ?? '', (parts[at + 1] ?? '').trim());
  return Object.fromEntries(attempts.map(({ name }) => [name, found.get(name) ?? 'did not run']));
}

const indented = (code: string): string => code.replaceAll('\n', '\n    ');

const asPython = (attempts: readonly Escape[]): string =>
  attempts
    .map(
      ({ name, code }) => `print('=== ${name}')
async def attempt():
    ${indented(code(targets))}
try:
    await attempt()
    print('ended')
except BaseException as error:
    print('refused:', repr(error)[:200])
`,
    )
    .join('\n');

const asJavascript = ({ code }: Escape): string => code(targets);

/** A module of Node.js; output goes to the descriptor, which survives a closed realm. */
const asModule = (attempts: readonly Escape[], start: string): string => `
import { writeSync } from 'node:fs';
${start}
const print = (...values) => { writeSync(1, values.map(String).join(' ') + '\\n'); };
const exit = globalThis.process.exit.bind(globalThis.process);
const later = globalThis.setTimeout;
await begin();
${attempts
  .map(
    ({ name, code }) => `print('=== ${name}');
try {
  await Promise.race([(async () => { ${code(targets)} })(), new Promise((_, fail) => later(() => fail(new Error('slow')), 2000))]);
  print('ended');
} catch (error) { print('refused:', error); }`,
  )
  .join('\n')}
exit(0);
`;

async function run(language: Language, code: string): Promise<CodeResult & { everything: string }> {
  const runner = createCodeRunner({ limits: { timeMs: ENOUGH_MS, processorMs: ENOUGH_MS } });
  try {
    const result = await runner.run({ language, code, signal: new AbortController().signal });
    const files = result.files.map(({ name, bytes }) => `${name} ${Buffer.from(bytes).toString('latin1')}`);
    return { ...result, everything: [result.output, result.error?.message, ...files].join('\n') };
  } finally {
    await runner.close();
  }
}

/** Without the environment, as the runner starts its programs. */
async function runWalled(code: string): Promise<{ output: string; exit: string }> {
  const program = join(programs, `${randomUUID()}.mjs`);
  writeFileSync(program, code);
  const child = startLimitedProcess({
    program: pathToFileURL(program),
    arguments: [],
    modules: [import.meta.url],
    memoryBytes: 512 * 1024 * 1024,
    onExcess: () => child.kill(),
  });
  const output = await text(child.stdout);
  return { output: output + child.errors(), exit: await child.exited };
}

const moduleUrl = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);

const nothing = () => ({ leaks: [], connections: 0, isMarked: false });
const outcome = (output: string) => ({ leaks: leaksIn(output), connections, isMarked: existsSync(targets.mark) });

describe('code that tries to escape', () => {
  it('knows at least thirty ways', () => {
    expect(pythonEscapes.length + javascriptEscapes.length + nativeEscapes.length).toBeGreaterThan(80);
  });

  it('is seen by this test when nothing holds it', async () => {
    const program = join(programs, 'free.mjs');
    writeFileSync(program, asModule(nativeEscapes, 'const begin = () => undefined;'));
    const child = spawn(process.execPath, ['--no-warnings', program], {
      env: { ...process.env, [VARIABLE]: secrets.environment },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const outputs = byAttempt(await text(child.stdout), nativeEscapes);
    const leaking = nativeEscapes.filter(({ name }) => leaksIn(outputs[name] ?? '').length > 0);
    const expected = nativeEscapes.filter(({ name, leaksInNode = name !== 'write' }) => leaksInNode);
    expect(leaking.map(({ name }) => name)).toEqual(expected.map(({ name }) => name));
    expect(connections).toBeGreaterThan(2);
    expect(existsSync(targets.mark)).toBe(true);
  });

  it('finds nothing from Python', async () => {
    const together = pythonEscapes.filter(({ crashes = false }) => !crashes);
    const { everything, error, files } = await run('python', asPython(together));
    const outputs = byAttempt(everything, together);
    expect({ ...outcome(everything), error, files }).toEqual({ ...nothing(), error: undefined, files: [] });
    expect(Object.entries(outputs).filter(([, output]) => output === 'did not run')).toEqual([]);
    for (const escape of pythonEscapes.filter(({ crashes = false }) => crashes)) {
      const alone = await run('python', asPython([escape]));
      expect({ ...outcome(alone.everything), error: alone.error?.reason }).toEqual({ ...nothing(), error: 'crash' });
    }
  });

  it('finds nothing from JavaScript', async () => {
    for (const escape of javascriptEscapes) {
      const { everything, files } = await run('javascript', asJavascript(escape));
      expect({ name: escape.name, ...outcome(everything) }).toEqual({ name: escape.name, ...nothing() });
      expect(files.every(({ name }) => !/[/\\]/.test(name))).toBe(true);
    }
  });

  it('finds nothing in the process itself, if an interpreter is broken', async () => {
    const start = `import { closeRealm } from ${moduleUrl('../dist/closed-realm.js')};
        const begin = () => { globalThis.isWalled = true; closeRealm({ modules: [] }); globalThis.isWalled = true; };`;
    const { output, exit } = await runWalled(asModule(nativeEscapes, start));
    const outputs = byAttempt(output, nativeEscapes);
    expect({ ...outcome(output), exit }).toEqual({ ...nothing(), exit: 'code 0' });
    expect(Object.entries(outputs).filter(([, result]) => !/refused|undefined/.test(result))).toEqual([]);
  });

  it('finds nothing with all modules of Node.js in the limited process', async () => {
    const start = `import { isolateProcess } from ${moduleUrl('../../service-kit/dist/limited-process/index.js')};
        const begin = () => { globalThis.isWalled = true; isolateProcess(); };`;
    const { output, exit } = await runWalled(asModule(nativeEscapes, start));
    expect({ ...outcome(output), exit }).toEqual({ ...nothing(), exit: 'code 0' });
  });

  it('leaves the prototypes of the service alone', () => {
    expect([({} as Record<string, unknown>)['polluted'], typeof Array.prototype.map]).toEqual([undefined, 'function']);
  });
});
