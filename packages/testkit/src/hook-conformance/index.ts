export { ApiError, ModelApiServer } from './api-server.js';
export { createManualClock, type ManualClock } from './clock.js';
export { stored } from './defaulting.js';
export { checkResponse, type Hook, HookFault } from './hook.js';
export { MODEL_IMAGES, ModelWorld, type ModelWorldOptions } from './model-world.js';
export { keyOf, type Ref, refOf } from './objects.js';
export { storedQuantity } from './quantity.js';
export { type Scenario, SCENARIOS, scenariosFor } from './scenarios/index.js';
export type { Capability, HookFaultMode, World } from './world.js';
