import type { CallRules } from '../src/turns/tools/call-rules.js';
import { sharesText } from '../src/turns/tools/shared-text.js';
import type { UntrustedSource } from '../src/turns/tools/untrusted-content.js';

export interface MemoryRulesOptions {
  /** What the user allows now. Default: everything. */
  permission?: () => 'allow' | 'ask' | 'deny';
  /** Whether another turn sent calls since the message of the user. */
  mayRepeat?: boolean;
  /** The connection that tools use. */
  connection?: () => string;
  /** Memories of the user. */
  privateTexts?: string[];
}

/** @param untrusted the kinds of content of others in the conversation */
export const createMemoryRules = (
  { permission, mayRepeat = false, connection, privateTexts = [] }: MemoryRulesOptions,
  untrusted: ReadonlySet<UntrustedSource>,
): CallRules => ({
  mayRepeat: async () => mayRepeat,
  permission: async () => permission?.() ?? 'allow',
  connection: async () => connection?.(),
  untrustedSources: async () => [...untrusted],
  sharesPrivateText: async (_place, query) => sharesText(query, privateTexts, []),
});
