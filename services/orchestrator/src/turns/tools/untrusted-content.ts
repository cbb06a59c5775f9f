import type { PlatformTool } from './platform-tool.js';

import { UNTRUSTED_SOURCES, type UntrustedSource } from './untrusted-source.js';

export type { UntrustedSource };

const NAMES: Record<UntrustedSource, string> = {
  web: 'web pages',
  app: 'content of a connected app',
  attachment: 'attached files',
  memory: 'memories of such content',
  artifact: 'documents about such content',
};

export function askedBecause(sources: readonly UntrustedSource[]): string {
  const names = UNTRUSTED_SOURCES.filter((source) => sources.includes(source)).map((source) => NAMES[source]);
  return `You allow this tool. It asks because the agent has read ${names.join(', ')} in this conversation, which can contain instructions of others.`;
}

/** True if calls ask after the agent has read untrusted content: they change what outlasts the conversation. */
export const asksAfterUntrusted = ({ effect, asksAfterUntrustedContent }: PlatformTool): boolean =>
  effect === 'keyed' || effect === 'once' || asksAfterUntrustedContent === true;

/** Kind of content that a tool returns by itself; undefined if it depends on what the call reads. */
export const contentOf = ({
  effect,
  provider,
  reads,
}: Pick<PlatformTool, 'effect' | 'provider' | 'reads'>): UntrustedSource | undefined =>
  reads ?? (effect === 'read' && provider !== undefined ? 'app' : undefined);
