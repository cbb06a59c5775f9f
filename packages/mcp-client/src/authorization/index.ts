export { AuthorizationFailure, type AuthorizationFailureKind } from './authorization-failure.js';
export { type AuthorizationServer, discoverAuthorization, type DiscoveryRequest } from './discover-authorization.js';
export type { RequestOptions } from './limited-request.js';
export { registerClient, type RegisteredClient, type Registration, type TokenAuthMethod } from './register-client.js';
