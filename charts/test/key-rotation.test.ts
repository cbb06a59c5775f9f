import { beforeAll, describe, expect, it } from '@jest/globals';
import { loadConfig } from '@uswarm/service-kit';
import { readConfig } from '@uswarm/orchestrator/config';
import { GatewayConfig } from '@uswarm/realtime-gateway/config';
import { loadControllerConfig } from '@uswarm/controller/config';
import { container, environmentOf, evaluation, type Manifest, modelProvider, render } from './support/rendering.js';
import { merge } from './support/value-paths.js';

/** Uses another key in the generated Secret as the previous one. */
const rotating = merge(merge(evaluation, modelProvider), {
  secrets: {
    internalApi: { previousKey: 'sync-token' },
    modelCalls: { previousKey: 'cursor-key' },
    cursor: { previousKey: 'identity-hash-key' },
    identityHash: { previousKey: 'cursor-key' },
    signature: { previousKey: 'cursor-key' },
    sync: { previousKey: 'cursor-key' },
  },
});

let manifests: Manifest[];
beforeAll(async () => {
  manifests = await render(rotating);
});
const environment = (from: readonly Manifest[], owner: string, name = owner): Record<string, string> =>
  environmentOf(from, container(from, `uswarm-${owner}`, name));
const namesOf = (from: readonly Manifest[], owner: string): string[] =>
  container(from, `uswarm-${owner}`, owner).env!.map(({ name }) => name);

describe('during a rotation', () => {
  it('the orchestrator accepts the configured previous keys', () => {
    const env = environment(manifests, 'orchestrator');
    const config = readConfig(env);
    expect({
      internal: config.INTERNAL_API_KEY_PREVIOUS,
      modelCalls: config.MODEL_CALLS_KEY_PREVIOUS,
      cursor: config.CURSOR_KEY_PREVIOUS,
      identity: config.IDENTITY_HASH_KEY_PREVIOUS,
      signature: config.SIGNATURE_SECRET_PREVIOUS,
      admin: config.ADMIN_API_KEY_PREVIOUS,
    }).toEqual({
      internal: [environment(manifests, 'webhook')['SYNC_TOKEN']],
      modelCalls: [env['CURSOR_KEY']],
      cursor: [env['IDENTITY_HASH_KEY']],
      identity: [env['CURSOR_KEY']],
      signature: [env['CURSOR_KEY']],
      admin: [],
    });
  });

  it('the previous operator key is read from the operator Secret', async () => {
    const secrets = { admin: { existingSecret: 'operators', previousKey: 'before' } };
    const { env } = container(await render(merge(evaluation, { secrets })), 'uswarm-orchestrator', 'orchestrator');
    expect(env).toContainEqual({
      name: 'ADMIN_API_KEY_PREVIOUS',
      valueFrom: { secretKeyRef: { name: 'operators', key: 'before' } },
    });
  });

  it('the webhook accepts two tokens and the controller sends only the current one', () => {
    const orchestrator = environment(manifests, 'orchestrator');
    const webhook = environment(manifests, 'webhook');
    expect(webhook['SYNC_TOKEN_PREVIOUS']).toBe(orchestrator['CURSOR_KEY']);
    const env = { ...environment(manifests, 'controller'), POD_NAME: 'controller-0' };
    expect(loadControllerConfig(env).SYNC_TOKEN).toBe(webhook['SYNC_TOKEN']);
    expect(namesOf(manifests, 'controller').filter((name) => name.endsWith('_PREVIOUS'))).toEqual([]);
  });

  it('the gateway sends the current key, and accepts resume tokens of the previous one', () => {
    const config = loadConfig(GatewayConfig, environment(manifests, 'realtime-gateway'));
    expect({ current: config.INTERNAL_API_KEY, previous: config.INTERNAL_API_KEY_PREVIOUS }).toEqual({
      current: environment(manifests, 'orchestrator')['INTERNAL_API_KEY'],
      previous: [environment(manifests, 'webhook')['SYNC_TOKEN']],
    });
  });
});

it('no environment contains a previous key without a rotation', async () => {
  const still = await render(evaluation);
  const names = ['orchestrator', 'realtime-gateway', 'webhook', 'controller'].flatMap((owner) => namesOf(still, owner));
  expect(names.filter((name) => name.endsWith('_PREVIOUS'))).toEqual([]);
});
