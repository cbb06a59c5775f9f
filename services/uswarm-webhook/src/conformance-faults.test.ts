import { describe, expect, it } from '@jest/globals';
import type { SyncRequest, SyncResponse } from '@uswarm/contract/userswarm';
import { createManualClock, MODEL_IMAGES, ModelWorld, scenariosFor } from '@uswarm/hook-conformance';
import { testFacts, testSettings } from '../test/webhook-input.js';
import { render } from './render/render.js';

// Verifies the conformance kit itself: each of these hooks has one fault, and exactly one scenario must fail.

type Fault = (response: SyncResponse, request: SyncRequest, now: Date) => unknown;

const deployment = (response: SyncResponse): Record<string, unknown> | undefined =>
  response.children.find(({ kind }) => kind === 'Deployment');

/** Changes the Deployment's one container. */
function withContainer(response: SyncResponse, change: (container: Record<string, unknown>) => void): SyncResponse {
  const spec = deployment(response)?.['spec'] as
    | { template: { spec: { containers: Record<string, unknown>[] } } }
    | undefined;
  for (const container of spec?.template.spec.containers ?? []) change(container);
  return response;
}

const FAULTS: Record<string, Fault> = {
  'a quantity that is not canonical': (response) =>
    withContainer(response, (container) => {
      container['resources'] = { limits: { cpu: '1000m' } };
    }),
  'a defaulted field in a list that is replaced as a whole': (response) =>
    withContainer(response, (container) => {
      container['env'] = [{ name: 'EMPTY', value: '' }];
    }),
  'an empty list of children on an error': (response) =>
    response.status['phase'] === 'Error' ? { ...response, children: [] } : response,
  'the time in a status that did not change': (response, _request, now) => ({
    ...response,
    status: { ...response.status, address: now.toISOString() },
  }),
  'finalized is true too early': (response, { finalizing }) =>
    finalizing ? { ...response, finalized: true } : response,
  'finalized is never true': (response, { finalizing }) => (finalizing ? { ...response, finalized: false } : response),
  'children while finalizing': (response, request) =>
    request.finalizing ? render({ ...request, finalizing: false }, testSettings(), FACTS) : response,
  'a child without a namespace': (response) => {
    for (const { metadata } of response.children) delete metadata.namespace;
    return response;
  },
  'a missing status': ({ children }) => ({ children }),
  'a selector that changes with the image': (response) => {
    const spec = deployment(response)?.['spec'] as { selector: { matchLabels: Record<string, unknown> } } | undefined;
    if (spec !== undefined) spec.selector = { matchLabels: { image: response.status['image'] } };
    return response;
  },
  'a field that is not in the schema': (response) => ({ ...response, status: { ...response.status, extra: 1 } }),
  'Ready before the pod is ready': (response) => ({ ...response, status: { ...response.status, phase: 'Ready' } }),
};

const FACTS = await testFacts();

describe('the conformance kit', () => {
  it.each(Object.keys(FAULTS))('detects a hook with the fault: %s', async (name) => {
    const failed: string[] = [];
    for (const flavour of ['builtin', 'metacontroller'] as const) {
      const apply = flavour === 'builtin' ? 'server-side' : 'three-way';
      const scenarios = scenariosFor(createWorld(FAULTS[name]!, flavour, apply));
      for (const scenario of scenarios) {
        if (failed.length > 0) break;
        await scenario.run(createWorld(FAULTS[name]!, flavour, apply), 'workspace-story').catch(() => {
          failed.push(scenario.name);
        });
      }
    }
    expect(failed).toHaveLength(1);
  });
});

function createWorld(
  fault: Fault,
  flavour: 'builtin' | 'metacontroller',
  apply: 'server-side' | 'three-way',
): ModelWorld {
  const clock = createManualClock();
  return new ModelWorld({
    clock,
    flavour,
    apply,
    hook: async (request) => {
      const facts = await testFacts({ now: clock.now() });
      const response = render(request, testSettings({ image: MODEL_IMAGES.good }), facts);
      return fault(JSON.parse(JSON.stringify(response)) as SyncResponse, request, clock.now());
    },
  });
}
