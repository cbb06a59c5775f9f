import { readFileSync } from 'node:fs';
import { mkdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { freePort, stillRuns } from '@uswarm/dev-servers';
import { describeWith } from '@uswarm/testkit';
import { newDataFolder, type RunningProgram, runLocalMode } from '../test/local.js';
import { childrenOf } from '../test/processes.js';
import { runProgram } from '../test/program.js';
import { SEARXNG_FOLDER } from '../test/search.js';

const quickstart = readFileSync(path.resolve(import.meta.dirname, '../../../docs/quickstart.md'), 'utf8');

describeWith('searxng', 'npm start on a machine whose search engines cannot be reached', () => {
  let local: RunningProgram;
  beforeAll(async () => {
    const directory = await newDataFolder();
    // Reuses the installation of other tests.
    await mkdir(SEARXNG_FOLDER, { recursive: true });
    await mkdir(directory, { recursive: true });
    await symlink(SEARXNG_FOLDER, path.join(directory, 'searxng'));
    // Also on a machine with internet access.
    const proxy = `http://127.0.0.1:${await freePort()}`;
    local = await runLocalMode({ USWARM_DATA_DIR: directory, HTTPS_PROXY: proxy }, ['--search']);
  });
  afterAll(() => local?.stop());

  it('answers the first question, which waits for SearXNG, with the engines and their reason', async () => {
    expect(local.program.stdout()).toContain('  search    SearXNG, starting in the background\n');
    const question = 'Search the web for green tea and answer with sources';
    const chat = runProgram('packages/cli/dist/chat.js', [question], { USWARM_DATA_DIR: local.directory });
    expect(await chat.ended).toBe(0);
    const answer = chat
      .stdout()
      .split('\n')
      .find((line) => line.startsWith('Manager: '));
    expect(quickstart).toContain(`\n${answer}\n`);
    expect(answer).toMatch(/The search failed: .*\bduckduckgo\b.*\bmojeek\b.*\(the connection failed\)/);
    expect(local.program.stdout()).toMatch(/^ {2}SearXNG is ready \(\d+\.\d s\): agents can search the web$/m);
  });

  it('stops SearXNG with everything else', async () => {
    const children = childrenOf(local.program.pid);
    expect(await local.program.stop('SIGINT')).toBe(0);
    expect(children.filter(stillRuns)).toEqual([]);
  });
});
