import { eventually } from '@uswarm/testkit/eventually';
import type { FoldedWorkspace, Revised } from './folded-workspace.js';
import type { PlainClient } from './plain-client.js';

/** An answer takes some seconds, also if its runtime must be started. */
const ANSWER_WITHIN_MS = 20_000;

/**
 * Lets a client on the previous gateway read everything again, and see how a following answer ends. Its gateway may
 * need some time to find its connections again.
 */
export async function untilReloaded(client: PlainClient, timeoutMs: number): Promise<void> {
  await eventually(
    async () => {
      await client.reload();
      const [workspace] = client.known;
      const conversationId = [...(workspace?.[1].conversations.keys() ?? [])].at(-1);
      if (workspace === undefined || conversationId === undefined) return true;
      const { answers } = client;
      await client.send(workspace[0], conversationId);
      await eventually(() => client.answers > answers, { timeoutMs: ANSWER_WITHIN_MS });
      return true;
    },
    { timeoutMs, description: 'a client of the previous gateway has read everything again and receives answers' },
  );
}

/** Fields that follow from other events, or that the previous release's events do not have. */
const UNKNOWN: ReadonlySet<string> = new Set(['rev', 'unread_count', 'last_message', 'last_message_preview']);
/** Fields that change with events about other objects. A conversation's first message is its title. */
const OF_OTHERS: ReadonlySet<string> = new Set(['updated_at', 'title']);

/** State of a client on the previous gateway, compared with a snapshot: each field that its events have. */
export function plainDifferences(folded: FoldedWorkspace, snapshot: FoldedWorkspace): string[] {
  const of = (
    kind: string,
    left: ReadonlyMap<string, Revised>,
    right: ReadonlyMap<string, Revised>,
    ignored: ReadonlySet<string>,
  ): string[] =>
    [...new Set([...left.keys(), ...right.keys()])].flatMap((id) => {
      const [mine, theirs] = [left.get(id), right.get(id)];
      if (mine !== undefined && theirs !== undefined && isPart(mine, theirs, ignored)) return [];
      return [`${kind} ${id}: ${JSON.stringify(mine)} instead of ${JSON.stringify(theirs)}`];
    });
  const derived = new Set([...UNKNOWN, ...OF_OTHERS]);
  return [
    ...of('workspace', new Map([['', folded.workspace]]), new Map([['', snapshot.workspace]]), derived),
    ...of('conversation', folded.conversations, snapshot.conversations, derived),
    ...of('message', folded.messages, snapshot.messages, UNKNOWN),
  ];
}

/** True if `whole` has all fields of `part` with the same values. An agent's status depends on the time. */
function isPart(part: unknown, whole: unknown, ignored: ReadonlySet<string>, within = ''): boolean {
  if (typeof part !== 'object' || part === null) return part === whole;
  if (typeof whole !== 'object' || whole === null) return false;
  if (Array.isArray(part) && part.length !== (whole as unknown[]).length) return false;
  return Object.entries(part).every(([name, value]) => {
    if (ignored.has(name) || (within === 'agent' && name === 'status')) return true;
    return isPart(value, (whole as Record<string, unknown>)[name], ignored, name);
  });
}
