export { createWebhookApp, type WebhookDeps } from './app.js';
export { loadWebhookConfig, type WebhookConfig } from './config/config.js';
export { render } from './render/render.js';
export type { DatabaseState, RenderFacts, RenderSettings } from './render/settings.js';
