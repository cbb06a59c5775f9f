import type { Client, components } from '@uswarm/client';

export type Memory = components['schemas']['AgentMemory'];
/** API limit per agent. */
export const LIMIT = 500;
const ROUTE = '/v1/agents/{id}/memories';

/** Newest first. */
export async function loadMemories({ api }: Client, agentId: string, signal: AbortSignal): Promise<Memory[]> {
  const all: Memory[] = [];
  for (let scrollId: string | undefined, isFirst = true; isFirst || scrollId !== undefined; isFirst = false) {
    const page = await api.get(ROUTE, { path: { id: agentId }, query: scrollId ? { scrollId } : {}, signal });
    all.push(...page.data);
    scrollId = page.next_scroll_id;
  }
  return all.toReversed();
}

/** @returns memories that contain every word */
export function matching(memories: readonly Memory[], words: string): Memory[] {
  const wanted = words.toLowerCase().split(/\s+/);
  return memories.filter(({ key, content }) =>
    wanted.every((word) => `${key} ${content}`.toLowerCase().includes(word)),
  );
}

export async function saveMemory(
  { api }: Client,
  of: { workspaceId: string; agentId: string },
  key: string,
  content: string,
  isNew: boolean,
): Promise<void> {
  const route = '/v1/workspaces/{workspaceId}/agents/{agentId}/memories/{key}';
  await (isNew
    ? api.post(ROUTE, { path: { id: of.agentId }, body: { key, content, category: 'general' } })
    : api.patch(route, { path: { ...of, key }, body: { content } }));
}
