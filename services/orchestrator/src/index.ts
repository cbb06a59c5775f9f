export { createEndToEndBypass } from './features/auth/e2e-bypass.js';
export { OrchestratorConfig } from './config.js';
export { migrate } from './database/migrate.js';
export { createOrchestrator, type Orchestrator, type OrchestratorOptions } from './orchestrator.js';
export { readConfig, serviceVersion } from './start.js';
