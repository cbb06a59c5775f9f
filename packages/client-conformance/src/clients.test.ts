import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cacheFolder } from '@uswarm/dev-servers';
import { describeWith, installPythonSocketio } from '@uswarm/testkit';
import { byTier } from '@uswarm/testkit/tier';
import { bundleClient } from '../test/bundle.js';
import { report } from './report.js';
import { runScenarios } from './run.js';
import { SCENARIOS } from './scenarios/index.js';
import type { Transport } from './server/seen.js';

const clients = join(import.meta.dirname, '..', 'clients');

const scenariosOf = (transport: Transport) => SCENARIOS.filter(({ only }) => only === undefined || only === transport);
/**
 * Enough for the Python glue, because `@uswarm/client` runs every scenario and each Python process costs a quarter of a
 * second.
 */
const someOf = (transport: Transport) =>
  scenariosOf(transport).filter((_, index) => byTier({ core: index % 4 === 0, all: true }));

/** @returns the report on failed scenarios */
async function failures(command: string[], transport: Transport, scenarios = scenariosOf(transport)): Promise<string> {
  const results = await runScenarios(scenarios, { command, cwd: clients, transport, jobs: 12, patienceMs: 60_000 });
  const failed = results.filter(({ passed }) => !passed);
  const names = new Set(failed.map(({ scenario }) => scenario));
  return failed.length === 0
    ? ''
    : report(
        scenarios.filter(({ name }) => names.has(name)),
        failed,
        0,
      );
}

describe('@uswarm/client', () => {
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'uswarm-client-bundle-'));
    await bundleClient(join(folder, 'client.mjs'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each(['socket', 'sse'] as const)('passes all scenarios of the transport %s', async (transport) => {
    await expect(failures([process.execPath, join(folder, 'client.mjs')], transport)).resolves.toBe('');
  });
});

describeWith('python-socketio', 'a client in Python', () => {
  const installation = () => installPythonSocketio(join(cacheFolder(), 'python-socketio'));

  it('passes all scenarios of the socket with python-socketio', async () => {
    const { python, packages } = await installation();
    const command = ['env', `PYTHONPATH=${packages}`, python, join(clients, 'python_socketio.py')];
    await expect(failures(command, 'socket', someOf('socket'))).resolves.toBe('');
  });

  it('passes all scenarios of server-sent events with curl and the standard library', async () => {
    const { python } = await installation();
    await expect(failures([python, join(clients, 'curl_sse.py')], 'sse', someOf('sse'))).resolves.toBe('');
  });
});

describe('the clients', () => {
  it.each([
    ['uswarm.mjs', 60],
    ['python_socketio.py', 200],
    ['curl_sse.py', 120],
  ])('%s has at most %i lines of code', (file, most) => {
    const lines = readFileSync(join(clients, file), 'utf8').split('\n');
    const code = lines.filter((line) => !/^\s*($|#|\/\/|""".*"""$)/.test(line));
    expect(code.length).toBeLessThanOrEqual(most);
  });
});
