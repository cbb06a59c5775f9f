import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Scenario, SCENARIOS } from '@uswarm/hook-conformance';
import { type ControllerFixture, openFixture } from './fixture.js';
import { conformanceWorld, CAPABILITIES } from './conformance-world.js';

/** Pods that start concurrently; suits a small machine. */
const CONCURRENCY = 4;

const possible = SCENARIOS.filter(({ needs }) => needs.every((capability) => CAPABILITIES.includes(capability)));
const withoutHookFaults = possible.filter(({ needs }) => !needs.includes('hook faults'));
const withHookFaults = possible.filter(({ needs }) => needs.includes('hook faults'));

/** Runs the scenarios concurrently. Each test awaits the result of its scenario. */
function runAll(scenarios: readonly Scenario[], run: (scenario: Scenario, at: number) => Promise<void>) {
  const queue = [...scenarios.entries()];
  const results = new Map<Scenario, PromiseWithResolvers<void>>();
  for (const scenario of scenarios) {
    const result = Promise.withResolvers<void>();
    // The scenario's test reports a failure when it starts.
    result.promise.catch(() => {});
    results.set(scenario, result);
  }
  const worker = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const [at, scenario] = next;
      await run(scenario, at).then(results.get(scenario)?.resolve, results.get(scenario)?.reject);
    }
  };
  for (let count = 0; count < CONCURRENCY; count += 1) void worker();
  return results;
}

describe('the controller with the webhook on a real API server', () => {
  let fixture: ControllerFixture;
  let results: ReturnType<typeof runAll>;

  beforeAll(async () => {
    fixture = await openFixture(withoutHookFaults.length);
    await fixture.start();
    results = runAll(withoutHookFaults, (scenario, at) => {
      const name = `workspace-calm-${at}-end`;
      return scenario.run(conformanceWorld(fixture, name, fixture.spareNamespaces[at] ?? ''), name);
    });
  });
  afterAll(() => fixture.close());

  it.each(withoutHookFaults.map((scenario) => [scenario.name, scenario] as const))('%s', async (_name, scenario) => {
    await expect(results.get(scenario)?.promise).resolves.toBeUndefined();
  });
});

describe('the controller with a failing webhook on a real API server', () => {
  let fixture: ControllerFixture;

  beforeAll(async () => {
    fixture = await openFixture();
    await fixture.start();
  });
  afterAll(() => fixture.close());

  it.each(withHookFaults.map((scenario, at) => [scenario.name, scenario, at] as const))(
    '%s',
    async (_name, scenario, at) => {
      const name = `workspace-faulty-${at}-end`;
      await expect(scenario.run(conformanceWorld(fixture, name, ''), name)).resolves.toBeUndefined();
    },
  );
});
