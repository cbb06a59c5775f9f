import { describe, expect, it } from '@jest/globals';
import { createManualClock, type Hook, MODEL_IMAGES, ModelWorld, scenariosFor } from '@uswarm/hook-conformance';
import { testFacts, testSettings } from '../test/webhook-input.js';
import { render } from './render/render.js';

const settings = testSettings({ image: MODEL_IMAGES.good });
const nextSettings = testSettings({ image: MODEL_IMAGES.other });

function createWorld(options: Partial<ConstructorParameters<typeof ModelWorld>[0]>): ModelWorld {
  const clock = createManualClock();
  const hookOf =
    (of: typeof settings): Hook =>
    async (request) =>
      render(request, of, await testFacts({ now: clock.now() }));
  return new ModelWorld({ hook: hookOf(settings), nextHook: hookOf(nextSettings), clock, ...options });
}

describe.each([
  { flavour: 'builtin', apply: 'server-side', cacheLagMs: 0 },
  { flavour: 'builtin', apply: 'server-side', cacheLagMs: 1_000 },
  { flavour: 'metacontroller', apply: 'three-way', cacheLagMs: 0 },
  { flavour: 'metacontroller', apply: 'three-way', cacheLagMs: 1_000 },
  { flavour: 'metacontroller', apply: 'server-side', cacheLagMs: 0 },
] as const)('as $flavour with $apply apply and a cache $cacheLagMs ms behind', (options) => {
  it.each(scenariosFor(createWorld(options)).map((scenario) => [scenario.name, scenario] as const))(
    '%s',
    async (_name, scenario) => {
      const world = createWorld(options);
      await scenario.run(world, 'workspace-story');
      expect(world.api.list('UserSwarm')).toEqual([]);
      expect(world.api.list('Pod')).toEqual([]);
    },
  );
});
