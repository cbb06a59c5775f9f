export { loadModelGatewayConfig } from './config.js';
export { createModelGatewayMetrics } from './metrics.js';
export { createModelCallClient } from './model-call-client.js';
export { createModelGateway, type ModelGateway } from './model-gateway.js';
