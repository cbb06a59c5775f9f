import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { webhookConfig } from '@uswarm/testkit/webhook-config';
import { loadWebhookConfig } from './config.js';
import { programDigest, webhookRevision } from './webhook-revision.js';

describe('webhookRevision', () => {
  const revisionWith = async (
    environment: Record<string, string> = {},
    probed = false,
    program = 'p',
  ): Promise<string> =>
    webhookRevision((await webhookConfig(loadWebhookConfig, environment)).settings, probed, program);

  it('returns the same revision for two replicas', async () => {
    expect(await revisionWith()).toBe(await revisionWith());
    expect(await revisionWith()).toMatch(/^[0-9a-f]{16}$/);
  });

  it('returns a different revision if the settings, the policy, the database or the program differ', async () => {
    const { settings } = await webhookConfig(loadWebhookConfig);
    const policy = { ...settings.policy, sharedEnvSecrets: new Set(['another']) };
    const all = await Promise.all([
      revisionWith(),
      revisionWith({ SVC_AGENT_RUNTIME_IMAGE: 'registry.test/runtime:2' }),
      revisionWith({ ROLLOUT_GATE: 'on' }),
      webhookRevision({ ...settings, policy }, false, 'p'),
      revisionWith({}, true),
      revisionWith({}, false, 'another'),
    ]);
    expect(new Set(all).size).toBe(all.length);
  });
});

describe('programDigest', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'uswarm-program-'));
    await mkdir(join(directory, 'lib'));
    await writeFile(join(directory, 'main.js'), 'one');
    await writeFile(join(directory, 'lib', 'part.mjs'), 'two');
  });
  afterAll(() => rm(directory, { recursive: true }));

  it('the digest changes when a JavaScript file changes, and not when any other file changes', async () => {
    const before = await programDigest(directory);
    await writeFile(join(directory, 'main.js.map'), 'three');
    expect(await programDigest(directory)).toBe(before);
    await writeFile(join(directory, 'lib', 'part.mjs'), 'three');
    expect(await programDigest(directory)).not.toBe(before);
  });
});
