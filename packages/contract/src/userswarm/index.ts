export * from './names.js';
export * from './conditions.js';
export * from './advice.js';
export * from './resource.js';
export * from './hook.js';
export * from './rollout.js';
export * from './readiness.js';
export * from './drain-flag.js';
