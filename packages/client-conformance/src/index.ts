export { report } from './report.js';
export { type Result, type RunOptions, runScenarios } from './run.js';
export type { Scenario } from './scenario.js';
export { GROUPS, SCENARIOS } from './scenarios/index.js';
