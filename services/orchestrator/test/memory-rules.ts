import type { CallRules } from '../src/turns/tools/call-rules.js';
import { isKnownAddress } from '../src/turns/tools/known-addresses.js';
import { sharesText } from '../src/turns/tools/shared-text.js';
import type { UntrustedSource } from '../src/turns/tools/untrusted-content.js';

export interface MemoryRulesOptions {
  /** The user's current permission. Default: everything is allowed. */
  permission?: () => 'allow' | 'ask' | 'deny';
  /** True if another turn sent calls since the user's message. */
  mayRepeat?: boolean;
  connection?: () => string;
  privateTexts?: string[];
  /** Texts whose addresses may be opened. */
  known?: string[];
}

/** @param untrusted kinds of content in the conversation that others wrote */
export const createMemoryRules = (
  { permission, mayRepeat = false, connection, privateTexts = [], known = [] }: MemoryRulesOptions,
  untrusted: ReadonlySet<UntrustedSource>,
): CallRules => ({
  mayRepeat: async () => mayRepeat,
  permission: async () => permission?.() ?? 'allow',
  connection: async () => connection?.(),
  untrustedSources: async () => [...untrusted],
  sharesPrivateText: async (_place, query) => sharesText(query, privateTexts, []),
  knowsAddress: async (_conversationId, url) => isKnownAddress(url, known),
  lookups: async () => 0,
});
