export { createController, type Controller } from './controller.js';
export type { ControllerOptions } from './options.js';
