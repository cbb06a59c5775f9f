import type { ChargedCall } from '../src/records/usage-rows.js';

/** Has no price. Its agent and conversation do not exist. */
export const CHARGED_CALL: ChargedCall = {
  agentId: '01931a5e-7c00-7000-8000-0000000000c1',
  conversationId: '01931a5e-7c00-7000-8000-0000000000c2',
  modelId: null,
  prices: null,
};
