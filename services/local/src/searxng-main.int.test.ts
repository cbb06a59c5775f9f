import { mkdir, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { freePort, stillRuns } from '@uswarm/dev-servers';
import { describeWith } from '@uswarm/testkit';
import { newDataFolder } from '../test/local.js';
import { childrenOf } from '../test/processes.js';
import { type Program, runProgram } from '../test/program.js';
import { SEARXNG_FOLDER } from '../test/search.js';

describeWith('searxng', 'npm run searxng', () => {
  let directory: string;
  let port: string;
  const run = (env: Record<string, string> = {}): Program =>
    runProgram('services/local/dist/searxng-main.js', [], { USWARM_DATA_DIR: directory, SEARXNG_PORT: port, ...env });

  beforeAll(async () => {
    directory = await newDataFolder();
    port = String(await freePort());
    // Reuses the installation of other tests.
    await mkdir(SEARXNG_FOLDER, { recursive: true });
    await mkdir(directory, { recursive: true });
    await symlink(SEARXNG_FOLDER, path.join(directory, 'searxng'));
  });
  afterAll(() => rm(path.dirname(directory), { recursive: true, force: true }));

  it('prints the endpoint and the next command, and stops on Ctrl-C', async () => {
    const program = run();
    await program.printed(/Ctrl-C stops it/);
    const endpoint = `http://127.0.0.1:${port}`;
    expect(program.stdout()).toContain(`\nSearXNG is running at ${endpoint}\n`);
    expect(program.stdout()).toContain(`  SVC_SEARCH_ENDPOINT=${endpoint} npm start\n`);
    expect((await fetch(`${endpoint}/healthz`)).status).toBe(200);

    const children = childrenOf(program.pid);
    expect(children).toHaveLength(1);
    expect(await program.stop('SIGINT')).toBe(0);
    expect(children.filter(stillRuns)).toEqual([]);
    expect(program.stderr()).toBe('');
  });

  it('reports an invalid port in one sentence', async () => {
    const program = run({ SEARXNG_PORT: '70000' });
    expect(await program.ended).toBe(1);
    expect(program.stderr()).toBe('SEARXNG_PORT is not valid: must be a port number up to 65535\n');
  });
});
