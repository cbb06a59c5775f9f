import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Scenario, SCENARIOS } from '@uswarm/testkit';
import { type ControllerFixture, openFixture } from './fixture.js';
import { conformanceWorld, CAPABILITIES } from './conformance-world.js';

/** Pods that start at once on a small machine. */
const CONCURRENCY = 4;

const possible = SCENARIOS.filter(({ needs }) => needs.every((capability) => CAPABILITIES.includes(capability)));
const calm = possible.filter(({ needs }) => !needs.includes('hook faults'));
const faulty = possible.filter(({ needs }) => needs.includes('hook faults'));

/** Runs them side by side, so that each test only waits for its own. */
function runAll(scenarios: readonly Scenario[], run: (scenario: Scenario, at: number) => Promise<void>) {
  const waiting = [...scenarios.entries()];
  const results = new Map<Scenario, PromiseWithResolvers<void>>();
  for (const scenario of scenarios) {
    const result = Promise.withResolvers<void>();
    // A failure is told by the test that waits for it, which may come later.
    result.promise.catch(() => {});
    results.set(scenario, result);
  }
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [at, scenario] = next;
      await run(scenario, at).then(results.get(scenario)?.resolve, results.get(scenario)?.reject);
    }
  };
  for (let worker = 0; worker < CONCURRENCY; worker += 1) void work();
  return results;
}

describe('the controller with the webhook, on a real API server', () => {
  let fixture: ControllerFixture;
  let results: ReturnType<typeof runAll>;

  beforeAll(async () => {
    fixture = await openFixture(calm.length);
    await fixture.start();
    results = runAll(calm, (scenario, at) => {
      const name = `workspace-calm-${at}-end`;
      return scenario.run(conformanceWorld(fixture, name, fixture.spareNamespaces[at] ?? ''), name);
    });
  });
  afterAll(() => fixture.close());

  it.each(calm.map((scenario) => [scenario.name, scenario] as const))('%s', async (_name, scenario) => {
    await expect(results.get(scenario)?.promise).resolves.toBeUndefined();
  });
});

describe('the controller with a webhook that fails, on a real API server', () => {
  let fixture: ControllerFixture;

  beforeAll(async () => {
    fixture = await openFixture();
    await fixture.start();
  });
  afterAll(() => fixture.close());

  it.each(faulty.map((scenario, at) => [scenario.name, scenario, at] as const))('%s', async (_name, scenario, at) => {
    const name = `workspace-faulty-${at}-end`;
    await expect(scenario.run(conformanceWorld(fixture, name, ''), name)).resolves.toBeUndefined();
  });
});
