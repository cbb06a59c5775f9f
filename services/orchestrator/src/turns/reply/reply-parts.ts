import { LIMITS } from '@uswarm/contract';
import { storable } from '@uswarm/service-kit';
import type { Entry, Message, Tool } from '@uswarm/runtime-proto';
import { type OfferedContent, offeredContent } from '../content/agent-content-schema.js';
import { type Refusal, ReplyLimitExceeded } from '../content/reply-limit.js';
import { callRecord, checkNames, toolMessage } from './runtime-output.js';
import type { EntryParts, ToolMessage } from '../journal/turn-entries.js';
import type { TurnRow } from '../turns.store.js';

export interface ReplyPartsDeps {
  turn: Pick<TurnRow, 'agent_id'>;
  /** Tools that the orchestrator executes. It shows their calls itself. */
  platformTools: readonly string[];
  /** Tools whose calls the runtime may report. */
  tools: () => Pick<ReadonlySet<string>, 'has'>;
  /** Counts refused runtime output after which the turn continues. */
  refused: (refusal: Refusal) => void;
}

export function createReplyParts({ turn, platformTools, tools, refused }: ReplyPartsDeps) {
  const parts = new Set<string>();

  function countPart(part: string): void {
    parts.add(part);
    if (parts.size > LIMITS.replyParts) throw new ReplyLimitExceeded('reply_too_many_parts', 'too_many_parts');
  }

  /** @returns undefined for content that clients cannot display, such as from a newer or custom runtime */
  function offeredMessage({ key, agentId, content }: Message): { key: string; content: OfferedContent } | undefined {
    checkNames(key);
    countPart(`message:${key}`);
    if (agentId !== '' && agentId !== turn.agent_id) return void refused('other_agent');
    const offered = offeredContent(content);
    return offered === undefined ? undefined : { key: storable(key), content: offered };
  }

  /** @returns undefined for a call that the runtime may not report, or a record that is too large */
  function recordOf(call: Entry['call']): EntryParts['call'] {
    if (call === undefined || !isOffered(call.tool)) return undefined;
    const record = callRecord(call);
    if (record === undefined) refused('record_too_large');
    return record;
  }

  function isOffered(tool: string): boolean {
    if (tools().has(tool)) return true;
    refused('tool_not_offered');
    return false;
  }

  /** @returns undefined for a tool that the agent may not use */
  function toolLine(tool: Tool): ToolMessage | undefined {
    const line = toolMessage(tool);
    // Without an offer for them, a runtime reports tools that only the orchestrator executes.
    if (platformTools.includes(line.content.tool.trim())) return undefined;
    countPart(`tool:${tool.callId}`);
    return isOffered(tool.tool) ? line : undefined;
  }

  return { countPart, offeredMessage, recordOf, toolLine, clear: () => parts.clear() };
}
