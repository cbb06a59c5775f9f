export { createController, type Controller, type ControllerOptions } from './controller.js';
