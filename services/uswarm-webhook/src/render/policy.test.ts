import { describe, expect, it } from '@jest/globals';
import { DEFAULT_IMAGE, POLICY_CASE_NAME, POLICY_CASES, POLICY_LISTS } from '../../test/policy-cases.js';
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

// The same table is tried on an API server with the chart's policy: e2e/platform/admission-policy.e2e.test.ts.
describe('a UserSwarm that names', () => {
  it.each([...POLICY_CASES])('$title', async ({ spec, denied }) => {
    const request = syncRequest(userSwarm(spec, POLICY_CASE_NAME));
    const { children, status } = render(request, settings, await testFacts());
    const [ready] = status['conditions'] as { reason: string; message: string }[];
    const refusal = ready!.reason === 'PolicyDenied' ? ready!.message : undefined;
    expect({ refusal, children: children.length }).toEqual({ refusal: denied, children: denied === undefined ? 3 : 0 });
  });
});
