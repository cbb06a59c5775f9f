import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { build } from 'esbuild';

const PACKAGE = path.resolve(import.meta.dirname, '..');
const SUITE = path.join(PACKAGE, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');

/** With the protocol versions at which the suite can play the server. */
const SCENARIOS = [
  { scenario: 'initialize', version: '2025-06-18' },
  { scenario: 'initialize', version: '2025-11-25' },
  { scenario: 'tools_call', version: '2025-06-18' },
  { scenario: 'tools_call', version: '2025-11-25' },
  { scenario: 'tools_call', version: '2026-07-28' },
  { scenario: 'sse-retry', version: '2025-11-25' },
  { scenario: 'request-metadata', version: '2026-07-28' },
  { scenario: 'http-standard-headers', version: '2026-07-28' },
  { scenario: 'http-custom-headers', version: '2026-07-28' },
  { scenario: 'http-invalid-tool-headers', version: '2026-07-28' },
  { scenario: 'json-schema-ref-no-deref', version: '2026-07-28' },
  { scenario: 'json-schema-2020-12-preservation', version: '2025-11-25' },
  { scenario: 'json-schema-2020-12-preservation', version: '2026-07-28' },
];

const LEFT_OUT = [
  { scenarios: /^auth\//, reason: 'the orchestrator runs them: connections send the token that they are given' },
  { scenarios: /^elicitation-/, reason: 'questions to the user are not supported' },
  { scenarios: /^sep-2322-client-request-state$/, reason: 'a call that asks for more input fails' },
  { scenarios: /^sep-2640-client-/, reason: 'skills are resources, which are not read' },
];

// The suite warns if the client reconnects 200 ms late, which a busy machine may cause; it fails after 500 ms.
const TOLERATED_WARNINGS = ['client-sse-retry-timing'];

interface Check {
  id: string;
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  description: string;
  errorMessage?: string;
}

describe('the conformance suite of the protocol', () => {
  // In the package, so that Node.js finds the libraries.
  let folder = '';
  beforeAll(async () => {
    await mkdir(path.join(PACKAGE, 'dist'), { recursive: true });
    folder = await mkdtemp(path.join(PACKAGE, 'dist/.conformance-'));
    await build({
      entryPoints: [path.join(PACKAGE, 'test/conformance-client.ts')],
      outfile: path.join(folder, 'client.mjs'),
      bundle: true,
      packages: 'external',
      format: 'esm',
      platform: 'node',
      target: 'node24',
    });
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** Its commands start `node` by that name. */
  const suite = (...args: string[]) =>
    new Promise<{ failed: boolean; output: string }>((resolve) => {
      const search = `${path.dirname(process.execPath)}${path.delimiter}${process.env['PATH'] ?? ''}`;
      const options = { cwd: folder, env: { ...process.env, PATH: search }, timeout: 60_000 };
      execFile(process.execPath, [SUITE, ...args], options, (error, stdout, stderr) =>
        resolve({ failed: error !== null, output: stdout + stderr }),
      );
    });

  it('has no client scenario or version that is neither run nor left out for a reason', async () => {
    const { output } = await suite('list', '--client');
    const listed = [...output.matchAll(/^ {2}- (\S+) \[(.+)\]/gm)].flatMap(([, scenario = '', versions = '']) =>
      versions.split(',').map((version) => ({ scenario, version })),
    );
    const isLeftOut = (scenario: string) => LEFT_OUT.some(({ scenarios }) => scenarios.test(scenario));
    expect(listed.filter(({ scenario }) => !isLeftOut(scenario))).toEqual(SCENARIOS);
  });

  it.each(SCENARIOS)('finds no fault in scenario $scenario of version $version', async ({ scenario, version }) => {
    const results = path.join(folder, `${scenario}-${version}`);
    const command = ['--command', 'node client.mjs', '--scenario', scenario, '--spec-version', version];
    const { failed, output } = await suite('client', ...command, '-o', results);
    const [run = ''] = await readdir(results);
    const checks = JSON.parse(await readFile(path.join(results, run, 'checks.json'), 'utf8')) as Check[];
    const tolerated = checks.filter(({ id, status }) => status === 'WARNING' && TOLERATED_WARNINGS.includes(id));
    const bad = checks.filter((one) => ['FAILURE', 'WARNING'].includes(one.status) && !tolerated.includes(one));
    expect(bad.map(({ id, description, errorMessage }) => ({ id, description, errorMessage }))).toEqual([]);
    // Else the client failed.
    if (failed && tolerated.length === 0) throw new Error(output);
    expect(checks.map(({ status }) => status)).toContain('SUCCESS');
  });
});
