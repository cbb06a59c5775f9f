export type { BusOptions, EnvelopeListener, EventBus, SessionEndListener, Unsubscribe } from './event-bus.js';
export { createMemoryBus, type MemoryBusOptions } from './memory.js';
export { SESSION_END_EVENT, type SocketAdapter, USER_EVENT } from './socket-adapter.js';
export { createRedisBus, type RedisBusOptions } from './redis.js';
export { connectValkey, type ValkeyCommands, type ValkeyOptions } from './valkey/commands.js';
