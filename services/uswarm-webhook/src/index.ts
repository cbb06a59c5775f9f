export { createWebhookApp, type WebhookDeps } from './app.js';
export { loadWebhookConfig, type WebhookConfig } from './config/config.js';
export { runtimePods } from './config/runtime-pods.js';
export { childLabels } from './render/labels.js';
export { render } from './render/render.js';
export type { DatabaseState, RenderFacts, RenderSettings } from './render/settings.js';
