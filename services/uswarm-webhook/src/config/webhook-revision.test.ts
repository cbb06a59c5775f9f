import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { webhookConfig } from '../../test/loaded-config.js';
import { programDigest, webhookRevision } from './webhook-revision.js';

describe('the revision of a webhook', () => {
  const of = async (environment: Record<string, string> = {}, probed = false, program = 'p'): Promise<string> =>
    webhookRevision((await webhookConfig(environment)).settings, probed, program);

  it('is the same for two replicas', async () => {
    expect(await of()).toBe(await of());
    expect(await of()).toMatch(/^[0-9a-f]{16}$/);
  });

  it('is another one for another setting, another policy, another database and another program', async () => {
    const { settings } = await webhookConfig();
    const policy = { ...settings.policy, sharedEnvSecrets: new Set(['another']) };
    const all = await Promise.all([
      of(),
      of({ SVC_AGENT_RUNTIME_IMAGE: 'registry.test/runtime:2' }),
      of({ ROLLOUT_GATE: 'on' }),
      webhookRevision({ ...settings, policy }, false, 'p'),
      of({}, true),
      of({}, false, 'another'),
    ]);
    expect(new Set(all).size).toBe(all.length);
  });
});

describe('the digest of a program', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'uswarm-program-'));
    await mkdir(join(directory, 'lib'));
    await writeFile(join(directory, 'main.js'), 'one');
    await writeFile(join(directory, 'lib', 'part.mjs'), 'two');
  });
  afterAll(() => rm(directory, { recursive: true }));

  it('changes with any JavaScript file, and with nothing else', async () => {
    const before = await programDigest(directory);
    await writeFile(join(directory, 'main.js.map'), 'three');
    expect(await programDigest(directory)).toBe(before);
    await writeFile(join(directory, 'lib', 'part.mjs'), 'three');
    expect(await programDigest(directory)).not.toBe(before);
  });
});
