import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, createReadStream, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { goProgram } from '../../packages/dev-servers/dist/index.js';
import { describeWith, kubeTools } from '../../packages/testkit/dist/index.js';
import { buildCtl } from './build-ctl.mjs';
import { requireOwnPlatform } from './platforms.mjs';

/** The first build of krew takes minutes. */
const BUILD_MS = 15 * 60_000;
const KREW = {
  name: 'krew',
  version: 'v0.5.0',
  from: { package: 'sigs.k8s.io/krew/cmd/krew' },
  purpose: 'the plugin manager of kubectl',
};
const run = promisify(execFile);

describeWith('go', 'kubectl with a krew index that has uswarm', () => {
  let folder;
  let server;
  let env;
  let kubectl;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'uswarm-krew-'));
    const krew = await goProgram(KREW);
    ({ kubectl } = await kubeTools());
    server = createServer((request, response) => {
      const file = join(folder, 'archives', basename(request.url ?? ''));
      if (existsSync(file)) createReadStream(file).pipe(response);
      else response.writeHead(404).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const baseUrl = `http://127.0.0.1:${server.address().port}`;
    await buildCtl({ out: join(folder, 'archives'), platforms: [requireOwnPlatform().name], baseUrl });
    const index = await createIndex();
    mkdirSync(join(folder, 'path'));
    cpSync(krew, join(folder, 'path', 'kubectl-krew'));
    env = {
      PATH: [join(folder, 'krew', 'bin'), join(folder, 'path'), dirname(kubectl), process.env.PATH].join(':'),
      HOME: folder,
      KREW_ROOT: join(folder, 'krew'),
      KREW_DEFAULT_INDEX_URI: `file://${index}`,
      KREW_NO_UPGRADE_CHECK: '1',
    };
  }, BUILD_MS);
  afterAll(async () => {
    server?.close();
    rmSync(folder, { recursive: true });
  });

  /** A git repository with the manifest, as krew clones its index. */
  async function createIndex() {
    const index = join(folder, 'index');
    mkdirSync(join(index, 'plugins'), { recursive: true });
    cpSync(join(folder, 'archives', 'uswarm.yaml'), join(index, 'plugins', 'uswarm.yaml'));
    const git = (...args) =>
      run('git', ['-c', 'user.name=test', '-c', 'user.email=test@example.com', '-C', index, ...args]);
    await git('init', '--quiet');
    await git('add', '.');
    await git('commit', '--quiet', '--message', 'Add uswarm');
    return index;
  }
  const uswarm = (...args) => run(kubectl, args, { env });

  it('finds, installs, runs and removes the plugin', async () => {
    await uswarm('krew', 'update');
    expect((await uswarm('krew', 'search', 'uswarm')).stdout).toMatch(/^uswarm +Operate uswarm .* no$/m);
    await uswarm('krew', 'install', 'uswarm');
    expect((await uswarm('uswarm', '--help')).stdout).toMatch(/^Usage: kubectl uswarm \[options\] \[command\]\n/);
    await expect(uswarm('uswarm', 'why', 'a', '--kubeconfig', '/absent')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^No cluster selected: /),
    });
    expect((await uswarm('krew', 'list')).stdout).toBe('uswarm\n');
    await uswarm('krew', 'uninstall', 'uswarm');
    await expect(uswarm('uswarm', '--help')).rejects.toMatchObject({ code: 1 });
  }, 60_000);
});
