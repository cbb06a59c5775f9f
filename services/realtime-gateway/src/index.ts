export { createGateway, type Gateway, type GatewayDeps } from './gateway.js';
export { createGatewayMetrics, type GatewayMetrics } from './metrics/gateway-metrics.js';
export {
  createOrchestratorClient,
  type OrchestratorClient,
  type OrchestratorClientOptions,
} from './orchestrator-client.js';
export type { GatewaySettings } from './settings.js';
