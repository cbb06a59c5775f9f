import type { World } from '../world.js';
import { causeScenarios } from './causes.js';
import { errorScenarios } from './errors.js';
import { lifeScenarios } from './life.js';
import { rolloutScenarios } from './rollout.js';
import type { Scenario } from './scenario.js';

export type { Scenario } from './scenario.js';

/** Everything that a hook and the framework around it must get right. */
export const SCENARIOS: readonly Scenario[] = [
  ...lifeScenarios,
  ...causeScenarios,
  ...errorScenarios,
  ...rolloutScenarios,
];

/** Those that a world has what they need for. */
export const scenariosFor = ({ capabilities }: Pick<World, 'capabilities'>): readonly Scenario[] =>
  SCENARIOS.filter(({ needs }) => needs.every((need) => capabilities.has(need)));
