export { configSchema, type RuntimeConfig } from './config.js';
export { type RuntimeDeps, startRuntime } from './runtime.js';
