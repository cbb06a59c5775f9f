export { createEndToEndBypass } from './features/auth/e2e-bypass.js';
export { OrchestratorConfig, readConfig } from './config.js';
export { migrate } from './database/migrate.js';
export type { OrchestratorOptions } from './options.js';
export { createOrchestrator, type Orchestrator } from './orchestrator.js';
export { serviceVersion } from './start.js';
