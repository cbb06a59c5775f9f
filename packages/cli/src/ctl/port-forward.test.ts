import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@uswarm/testkit/eventually';
import { throughPortForward } from './port-forward.js';

const CLUSTER = { kubeconfig: undefined, context: undefined };

describe('a forwarded port', () => {
  let env: NodeJS.ProcessEnv;
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'uswarm-kubectl-'));
  });
  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  /** Replaces kubectl by a script, because a cluster does not fail on request. `e2e/platform/explain` uses the real one. */
  async function kubectl(script: string): Promise<void> {
    await writeFile(join(folder, 'kubectl'), `#!/bin/sh\n${script}\n`);
    await chmod(join(folder, 'kubectl'), 0o755);
    env = { PATH: `${folder}:${process.env['PATH']}` };
  }
  const reasonOf = () =>
    throughPortForward('backend', CLUSTER, env, async (url) => url).catch(({ message }: Error) => message);

  it('needs kubectl', async () => {
    env = { PATH: folder };
    expect(await reasonOf()).toBe('--port-forward needs kubectl in PATH.');
  });

  it.each([
    ['exit 0', 'No orchestrator in the namespace backend.'],
    ['echo deployment.apps/a; echo deployment.apps/b', 'Several orchestrators in the namespace backend: set --url.'],
    ['echo "Error from server (Forbidden): no" >&2; exit 1', 'kubectl failed: Error from server (Forbidden): no'],
    [
      'case "$*" in *get*) echo deployment.apps/a;; *) echo "error: unable to forward port" >&2; exit 1;; esac',
      'kubectl failed: error: unable to forward port',
    ],
  ])('tells why there is none: %s', async (script, reason) => {
    await kubectl(script);
    expect(await reasonOf()).toBe(reason);
  });

  it.each([
    ['was used', () => Promise.resolve('used'), 'used'],
    ['could not be used', () => Promise.reject(new Error('refused')), 'refused'],
  ])('ends when it %s', async (_, use, outcome) => {
    const ends = 'trap "touch $0.ended; kill \\$!; exit" TERM';
    const forward = `${ends}; sleep 60 & echo "Forwarding from 127.0.0.1:4711 -> 8082"; wait`;
    await kubectl(`case "$*" in *get*) echo deployment.apps/a;; *) ${forward};; esac`);
    const urls: string[] = [];
    const used = throughPortForward('backend', CLUSTER, env, (url) => {
      urls.push(url);
      return use();
    });
    expect(await used.catch(({ message }: Error) => message)).toBe(outcome);
    expect(urls).toEqual(['http://127.0.0.1:4711']);
    await eventually(() => existsSync(join(folder, 'kubectl.ended')), { description: 'the end of kubectl' });
  });
});
