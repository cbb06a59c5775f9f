import { describe, expect, it } from '@jest/globals';
import { DEFAULT_IMAGE, POLICY_CASE_NAME, POLICY_CASES, POLICY_LISTS } from '@uswarm/hook-conformance';
import { syncRequest, testFacts, testSettings, userSwarm } from '../../test/webhook-input.js';
import { render } from './render.js';

const settings = testSettings({
  image: DEFAULT_IMAGE,
  policy: {
    runtimeNamespaces: new Set(POLICY_LISTS.runtimeNamespaces),
    imagePrefixes: POLICY_LISTS.imagePrefixes,
    sharedEnvSecrets: new Set(POLICY_LISTS.sharedEnvSecrets),
    maxResources: { cpu: POLICY_LISTS.maxCpu[0], memory: POLICY_LISTS.maxMemory[0] },
  },
});

// e2e/platform/admission-policy.e2e.test.ts tests the chart's policy with the same table on an API server.
describe('admission policy of the webhook', () => {
  it.each([...POLICY_CASES])('decides as the policy table requires: $title', async ({ spec, denied }) => {
    const request = syncRequest(userSwarm(spec, POLICY_CASE_NAME));
    const { children, status } = render(request, settings, await testFacts());
    const [ready] = status['conditions'] as { reason: string; message: string }[];
    const message = ready!.reason === 'PolicyDenied' ? ready!.message : undefined;
    expect({ message, children: children.length }).toEqual({ message: denied, children: denied === undefined ? 3 : 0 });
  });
});
