import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '@uswarm/dev-servers';
import { newDataFolder, type RunningProgram, runLocalMode, startLocalMode } from '../test/local.js';

/** Starts local mode, which must fail. @returns its error message, the only line on standard error */
async function refusal(env: Record<string, string>, args: string[] = []): Promise<string> {
  const program = startLocalMode(env, args);
  expect(await program.ended).toBe(1);
  const [sentence, ...rest] = program.stderr().split('\n');
  expect(rest).toEqual(['']);
  return sentence ?? '';
}

describe('a second local mode', () => {
  let local: RunningProgram;
  let spare: string;
  beforeAll(async () => {
    spare = await newDataFolder();
    local = await runLocalMode();
  });
  afterAll(async () => {
    await local?.stop();
    await rm(path.dirname(spare), { recursive: true, force: true });
  });

  it('reports the process that uses the data folder, without affecting it', async () => {
    const infoFile = path.join(local.directory, 'local.json');
    const before = await readFile(infoFile, 'utf8');
    const env = { USWARM_DATA_DIR: local.directory, USWARM_PORT: String(await freePort()) };
    expect(await refusal(env)).toBe(
      `Another instance (pid ${local.program.pid}, ${local.url}) already uses the data folder ${local.directory}; ` +
        'stop it first, or set USWARM_DATA_DIR to another folder.',
    );
    expect(await readFile(infoFile, 'utf8')).toBe(before);
    const health = (await (await fetch(`${local.url}/v1/health`)).json()) as { data: { online: boolean } };
    expect(health.data.online).toBe(true);
  });

  it('reports the process that uses the port, and releases the data folder', async () => {
    const env = { USWARM_DATA_DIR: spare, USWARM_PORT: new URL(local.url).port };
    const sentence = await refusal(env);
    expect(sentence).toMatch(/^Port \d+ is already in use( \(by .*pid \d+\))?\. Set USWARM_PORT to another one\.$/);
    // The second attempt fails at the port again, not at a folder that the first one left locked.
    expect(await refusal(env)).toBe(sentence);
  });
});

describe('the start of local mode', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await newDataFolder();
  });
  afterAll(() => rm(path.dirname(directory), { recursive: true, force: true }));

  it('rejects a data folder of an older format', async () => {
    const old = path.join(path.dirname(directory), 'old');
    await mkdir(old);
    await writeFile(path.join(old, 'format.json'), JSON.stringify({ format: 0, postgres_major: 18 }));
    expect(await refusal({ USWARM_DATA_DIR: old, USWARM_PORT: String(await freePort()) })).toBe(
      `The data folder ${old} was created by an older version (format 0, this one requires 1): ` +
        'move it away to start from scratch, or set USWARM_DATA_DIR to another one.',
    );
  });

  it.each([
    [{ USWARM_PORT: 'abc' }, 'USWARM_PORT is not valid: must be a port number up to 65535.'],
    [{ SIGNATURE_MODE: 'required' }, 'SIGNATURE_MODE=required needs SIGNATURE_SECRET.'],
    [{ E2E_TOKEN: 'short' }, 'E2E_TOKEN is not valid: needs at least 32 characters.'],
  ])('rejects the environment %j', async (env, sentence) => {
    expect(await refusal({ USWARM_DATA_DIR: directory, ...env })).toBe(sentence);
  });

  it('rejects a file of agents without a manager in one line', async () => {
    const file = path.join(path.dirname(directory), 'agents.json');
    await writeFile(file, '[]');
    const env = { USWARM_DATA_DIR: directory, USWARM_PORT: String(await freePort()), AGENTS_FILE: file };
    expect(await refusal(env)).toBe('AGENTS_FILE: exactly one agent must have the kind manager, not 0.');
  });

  it('rejects a file of tool servers with an unknown field in one line', async () => {
    const file = path.join(path.dirname(directory), 'tool-servers.json');
    await writeFile(
      file,
      JSON.stringify({ servers: [{ id: 'wiki', name: 'Wiki', url: 'https://wiki.test', token: 'x' }] }),
    );
    const env = { USWARM_DATA_DIR: directory, USWARM_PORT: String(await freePort()), TOOL_SERVERS_FILE: file };
    expect(await refusal(env)).toBe('TOOL_SERVERS_FILE: servers.0: Unrecognized key: "token".');
  });

  it('rejects an integration that is a tool server in one line', async () => {
    const jira = { client_id: 'id', client_secret: 'secret', redirect_urls: ['https://app.example.com/callback'] };
    const port = String(await freePort());
    const env = { USWARM_DATA_DIR: directory, USWARM_PORT: port, INTEGRATION_PROVIDERS: JSON.stringify({ jira }) };
    expect(await refusal(env)).toBe(
      'INTEGRATION_PROVIDERS is not valid: jira is a tool server: remove it here, and add it to toolServers.servers of the chart or to TOOL_SERVERS_FILE (docs/connections.md).',
    );
  });

  it('rejects the placeholder of a key in one line', async () => {
    const env = { USWARM_DATA_DIR: directory, USWARM_PORT: String(await freePort()), OPENAI_API_KEY: 'replace-me' };
    expect(await refusal(env)).toMatch(/^OPENAI_API_KEY .*placeholder.*\.$/);
  });

  it('rejects an unknown argument', async () => {
    const sentence = await refusal({ USWARM_DATA_DIR: directory }, ['--serach']);
    expect(sentence).toBe("Unknown option '--serach'. Try npm start -- --help.");
  });
});

it('npm start -- --help prints the usage and starts nothing', async () => {
  const directory = await newDataFolder();
  const program = startLocalMode({ USWARM_DATA_DIR: directory }, ['--help']);
  expect(await program.ended).toBe(0);
  expect(program.stdout()).toMatch(/^npm start \[-- \[--no-search\] \[--host <address>\]\]\n[^]*USWARM_PORT \(8080\)/);
  expect(program.stderr()).toBe('');
  await expect(readFile(path.join(directory, 'format.json'))).rejects.toThrow('ENOENT');
  await rm(path.dirname(directory), { recursive: true });
});
