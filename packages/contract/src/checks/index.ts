export { checkResponse, type SeenResponse } from './response.js';
export { checkServerEvent } from './server-event.js';
