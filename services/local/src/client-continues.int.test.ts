import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { NewApiToken } from '@uswarm/contract';
import type { ModelServer } from '@uswarm/dev-servers';
import { type Consumer, installPackages, packageProblems, packPackage } from '@uswarm/testkit/packed-package';
import { developmentToken, startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { startCountingModel } from '../test/counted-answer.js';
import { type RunningProgram, runLocalMode } from '../test/local.js';
import { modelSettings } from '../test/model-settings.js';
import { type Program, runProgram } from '../test/program.js';

const APPS = join(import.meta.dirname, '../../../packages/client/test');

describe('an app with the packed @uswarm/client that is killed in the middle of an answer and started again', () => {
  let model: ModelServer;
  let local: RunningProgram;
  let folder: string;
  /** Sees the same user's conversation. */
  let observer: TestClient;
  let apps: Program[];
  let settings: Record<string, string>;
  /** A folder outside the repository. */
  let app: Consumer;
  let packed: string;
  let tarball: string;

  beforeAll(async () => {
    model = await startCountingModel();
    local = await runLocalMode(modelSettings(model));
    packed = await mkdtemp(join(tmpdir(), 'uswarm-packed-'));
    tarball = await packPackage('packages/client', packed);
    app = await installPackages([tarball]);
    for (const name of ['app.mjs', 'bare-app.mjs']) await app.write(name, await readFile(join(APPS, name), 'utf8'));
    const text = await readFile(join(APPS, 'app.mjs'), 'utf8');
    await app.write('program.mjs', text.replace('{ url, token,', '{ url, token: () => process.env.APP_TOKEN,'));
  });
  afterAll(async () => {
    await local?.stop();
    await model?.close();
    for (const each of [packed, app?.folder]) await rm(each, { recursive: true });
  });
  beforeEach(async () => {
    apps = [];
    folder = await mkdtemp(join(tmpdir(), 'uswarm-app-'));
    const email = `${randomUUID()}@example.com`;
    const token = await developmentToken(local.issuer, email);
    observer = await startTestClient({ restUrl: local.url, socketUrl: local.url, token });
    settings = { APP_URL: local.url, APP_EMAIL: email, APP_FILE: join(folder, 'store.json') };
    await writeFile(settings['APP_FILE']!, '[]');
  });
  afterEach(async () => {
    observer.close();
    for (const program of apps) await program.stop('SIGKILL');
    await rm(folder, { recursive: true });
  });

  function startApp(name: string, transport: string): Program {
    const program = runProgram(join(app.folder, name), [transport, 'Count to six'], settings);
    apps.push(program);
    return program;
  }

  it('has no problem that publint or @arethetypeswrong/cli know', async () => {
    expect(await packageProblems(tarball)).toBe('');
  });

  it.each([
    ['app.mjs', 'socket'],
    ['app.mjs', 'sse'],
    // Work for an app without the client; the client's README.md compares the lines.
    ['bare-app.mjs', 'socket'],
  ])('shows the whole answer, and has sent its question once: %s with %s', async (file, transport) => {
    const requests = model.requests.length;
    const hold = `middle-${requests}`;
    const first = startApp(file, transport);
    await first.printed(/one two three/);
    await first.stop('SIGKILL');
    const second = startApp(file, transport);
    await second.printed(/one two three/);
    model.release(hold);
    expect(await second.ended).toBe(0);
    expect(second.stdout().trim().split('\n').at(-1)).toBe('one two three four five six');
    await observer.shown(({ role }) => role === 'user');
    const created = observer.events.filter((event) => event.name === 'message.new');
    const sent = created.filter(({ payload }) => (payload['message'] as { role: string }).role === 'user');
    expect({ sent: sent.length, requests: model.requests.length - requests }).toEqual({ sent: 1, requests: 1 });
  });

  it.each(['socket', 'sse'])('is a program with an API token as well, with transport %s', async (transport) => {
    const hold = `middle-${model.requests.length}`;
    const { body } = await observer.api('POST', '/v1/api-tokens', { name: 'CI', scopes: ['write'] });
    settings['APP_TOKEN'] = (body as { data: NewApiToken }).data.token;
    const program = startApp('program.mjs', transport);
    await program.printed(/one two three/);
    model.release(hold);
    expect(await program.ended).toBe(0);
    expect(program.stdout().trim().split('\n').at(-1)).toBe('one two three four five six');
  });
});
