import type { World } from '../world.js';
import { causeScenarios } from './causes.js';
import { errorScenarios } from './errors.js';
import { lifeScenarios } from './life.js';
import { rolloutScenarios } from './rollout.js';
import type { Scenario } from './scenario.js';

export type { Scenario } from './scenario.js';

/** The behaviour that every hook and its controller must have. */
export const SCENARIOS: readonly Scenario[] = [
  ...lifeScenarios,
  ...causeScenarios,
  ...errorScenarios,
  ...rolloutScenarios,
];

/** The scenarios whose needs the world meets. */
export const scenariosFor = ({ capabilities }: Pick<World, 'capabilities'>): readonly Scenario[] =>
  SCENARIOS.filter(({ needs }) => needs.every((need) => capabilities.has(need)));
