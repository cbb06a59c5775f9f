export { createOutgoingAgents } from './node-agents.js';
export { createOutgoing, type Outgoing } from './outgoing.js';
export { DIRECT, type OutgoingProxy, readProxy } from './proxy.js';
export { isPublicAddress, mayBePublic, PrivateAddress } from './public-address.js';
