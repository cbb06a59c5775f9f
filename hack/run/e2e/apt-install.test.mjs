import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { repositoryRoot } from '../environment.mjs';

const SCRIPT = join(repositoryRoot, 'hack/cluster/apt-install.sh');
const LOCKED = 'E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)';

describe('apt-install.sh', () => {
  let folder;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'uswarm-apt-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** Installs the package `jq` with a simulated apt-get, a script that gets the command as `$verb`. */
  async function install(apt, lockS = '60') {
    const calls = join(folder, 'calls');
    const program = join(folder, 'apt-get');
    const parse = 'for verb; do case $verb in update | install) break ;; esac; done';
    writeFileSync(program, `#!/usr/bin/env bash\necho "$*" >>'${calls}'\n${parse}\n${apt}\n`);
    chmodSync(program, 0o755);
    const env = { ...process.env, PATH: `${folder}:${process.env.PATH}`, LOCK_S: lockS };
    const result = await new Promise((resolve) => {
      execFile(SCRIPT, ['jq'], { env }, (error, stdout) => resolve({ code: error?.code ?? 0, output: stdout }));
    });
    return { ...result, calls: readFileSync(calls, 'utf8').trim().split('\n') };
  }

  it('waits for the lock of packages, repeats downloads, and names what it has installed', async () => {
    const { code, output, calls } = await install('exit 0');
    expect({ code, output }).toEqual({ code: 0, output: 'installed jq\n' });
    expect(calls).toEqual([
      expect.stringMatching(/^-o DPkg::Lock::Timeout=60 -o Acquire::Retries=3 update/),
      expect.stringMatching(/^-o DPkg::Lock::Timeout=60 -o Acquire::Retries=3 install .* jq$/),
    ]);
  });

  it('tries again while another program has the lock of the package lists', async () => {
    const once = `[[ $verb == install || -e ${folder}/tried ]] || { touch ${folder}/tried; echo '${LOCKED}'; exit 100; }`;
    expect(await install(once)).toMatchObject({ code: 0, calls: { length: 3 } });
  });

  it.each(['update', 'install'])('reports a lock that is never released (%s)', async (verb) => {
    const { code, output } = await install(`[[ $verb != ${verb} ]] || { echo '${LOCKED}'; exit 100; }`, '0');
    expect(code).toBe(1);
    expect(output).toContain('held by process 7');
    expect(output).toContain('Another program has used apt for 0 s. Wait until it ends, and run the command again.');
  });

  it.each([
    ['update', 'The package lists could not be downloaded: check the network'],
    ['install', 'The packages could not be installed: see above. Needed are: jq.'],
  ])('reports another failure with its output (%s)', async (verb, sentence) => {
    const { code, output } = await install(`[[ $verb != ${verb} ]] || { echo 'E: Failed to fetch'; exit 100; }`);
    expect(code).toBe(1);
    expect(output).toContain('E: Failed to fetch');
    expect(output).toContain(sentence);
  });
});
