import { LIMITS } from '@uswarm/contract';
import { type Clock, type ReceiptKey, ReceiptSignatureError } from '@uswarm/service-kit';
import { artifactPath, boundedJson, filePath, verifiedReceipt, WORKSPACE_PATH } from '@uswarm/swarm-file';
import { z } from 'zod';
import { checkedTimes, InvalidTimes } from '../../chat/schedules/schedule-times.js';
import type { Transaction } from '../../platform/database/database.js';
import { visibleLine } from '../../platform/http/visible-text.js';
import { restoreAgents } from '../../records/agent-rows.js';
import { restoreAgentTools } from '../../records/agent-settings.store.js';
import { restoreConversations } from '../../records/conversation-rows.js';
import { restoreMemories } from '../../records/memories.store.js';
import { existingMessages, restoreMessages } from '../../records/message-rows.js';
import { requireRoom, restoreSchedules } from '../../records/schedule-rows.js';
import { visibleText } from '../../records/visible-text.js';
import { restoreSeq, restoreWorkspace } from '../../records/workspace-rows.js';
import type { SafeMarkdown } from '../../turns/content/reply-text.js';
import { insertImportedReceipts } from '../../turns/receipts/receipts.store.js';
import { saveSummary } from '../../turns/summaries/summaries.store.js';
import { markImported } from '../../turns/tools/untrusted-content.store.js';
import { restoreArtifact, type VersionRow } from '../../workspaces/artifacts/artifacts.store.js';
import { type StoredAttachment, storedAttachment } from '../../workspaces/uploads/attachments.js';
import { attachUploads, findUpload } from '../../workspaces/uploads/uploads.store.js';
import { batches } from './batches.js';
import { ImportFailed } from './import-failed.js';
import { importedContent, importedStatus } from './imported-content.js';
import { importedId } from './imported-id.js';
import { parsed, type Restoring, rowsOf, shortText } from './read-rows.js';
import {
  ImportedAgent,
  ImportedArtifact,
  ImportedConversation,
  ImportedMemory,
  ImportedMessage,
  ImportedSchedule,
  ImportedWorkspace,
} from './import-rows.js';

export interface ImportLimits {
  conversations: number;
  artifacts: number;
  memories: number;
  schedules: number;
  /** A schedule's least seconds between two runs. */
  scheduleIntervalS: number;
}

export interface RestoreDeps {
  markdown: Pick<SafeMarkdown, 'text'>;
  limits: ImportLimits;
  clock: Clock;
}

/** A version's columns that follow from its content. */
export type StoredDocument = Pick<VersionRow, 'object_id' | 'size' | 'preview'>;

const MESSAGES = 1_000_000;
const RECEIPTS = 100_000;
const AGENTS = 1_000;
const WORKSPACE_BYTES = 64 * 1024;
const WORKSPACE_VALUES = 1_000;

interface Target extends Restoring, RestoreDeps {
  tx: Transaction;
  workspaceId: string;
  /** A new id. */
  id: (old: string) => string;
  optional: (old: string | null) => string | null;
}

/** Old ids. */
interface Known {
  agents: ReadonlySet<string>;
  conversations: ReadonlySet<string>;
}

type Message = z.output<typeof ImportedMessage>;

/**
 * Writes all rows of a file in the caller's transaction, so that no one sees a part. Its files and documents are stored
 * before. Others may have written the texts: agents ask before they act on them.
 */
export function createRestore(deps: RestoreDeps) {
  /** @returns the workspace's id @throws ImportFailed, SwarmFileError; ApiError `schedule_limit_reached` */
  return async (
    restoring: Restoring,
    documents: ReadonlyMap<string, StoredDocument>,
    tx: Transaction,
  ): Promise<string> => {
    const { importId, userId, file } = restoring;
    const bytes = Buffer.from(await shortText(file, WORKSPACE_PATH, WORKSPACE_BYTES));
    const json = boundedJson(bytes, WORKSPACE_PATH, 'rows_invalid', WORKSPACE_VALUES);
    const workspace = parsed(ImportedWorkspace, json, WORKSPACE_PATH);
    const id = (old: string): string => importedId(importId, old);
    const optional = (old: string | null): string | null => (old === null ? null : id(old));
    const workspaceId = id(workspace.id);
    const to: Target = { ...deps, ...restoring, tx, workspaceId, id, optional };
    await restoreWorkspace(tx, { ...workspace, id: workspaceId, owner_id: userId });
    const agentIds = await agents(to);
    const { known: conversationIds, last } = await conversations(to, agentIds);
    const known = { agents: agentIds, conversations: conversationIds };
    await restoreSeq(tx, workspaceId, Math.max(last, await messages(to, known)));
    await artifacts(to, known, documents);
    await schedules(to, known);
    await memories(to, agentIds);
    await receipts(to);
    return workspaceId;
  };
}

async function agents(to: Target): Promise<Set<string>> {
  const { tx, workspaceId, id } = to;
  const known = new Set<string>();
  const live = { manager: 0, 'sub-agent': 0 };
  for await (const batch of batches(rowsOf(to, 'agents', ImportedAgent, AGENTS))) {
    await restoreAgents(
      tx,
      batch.map(({ tools: _, prompts, ...agent }) => ({
        ...agent,
        id: id(agent.id),
        workspace_id: workspaceId,
        slug: visibleText(agent.slug),
        prompts: JSON.stringify(prompts.map((prompt) => ({ ...prompt, name: visibleLine(prompt.name) }))),
        // A prompt is an instruction in each conversation, and the user did not write it.
        untrusted: true,
      })),
    );
    for (const agent of batch) {
      known.add(agent.id);
      if (agent.deleted_at === null) live[agent.kind] += 1;
      // A file must not give agents the right to act without a question.
      const tools = agent.tools.map((tool) => ({
        ...tool,
        permission: tool.permission === 'ask' ? ('ask' as const) : null,
      }));
      await restoreAgentTools(
        tx,
        tools.map((tool) => ({ ...tool, agent_id: id(agent.id) })),
      );
    }
  }
  if (live.manager !== 1) throw new ImportFailed('rows_invalid', 'the workspace needs one manager');
  if (live['sub-agent'] > LIMITS.subAgents)
    throw new ImportFailed('limit_reached', 'the workspace has too many agents');
  return known;
}

/** `last`: the highest sequence that they name. */
async function conversations(to: Target, agentIds: ReadonlySet<string>): Promise<{ known: Set<string>; last: number }> {
  const { tx, workspaceId, id, optional } = to;
  const known = new Set<string>();
  let last = 0;
  for await (const batch of batches(rowsOf(to, 'conversations', ImportedConversation, to.limits.conversations))) {
    for (const { agent_id: agentId } of batch) requireAgent(agentIds, agentId);
    await restoreConversations(
      tx,
      batch.map(({ summary: _, untrusted: __, ...conversation }) => ({
        ...conversation,
        id: id(conversation.id),
        agent_id: optional(conversation.agent_id),
        workspace_id: workspaceId,
      })),
    );
    for (const { id: old, summary, untrusted, read_seq: read, title_seq: titled } of batch) {
      known.add(old);
      last = Math.max(last, read, titled ?? 0, summary?.through_seq ?? 0);
      await markImported(tx, id(old), [...new Set([...untrusted, 'attachment' as const])]);
      if (summary !== null) await saveSummary(tx, id(old), { text: summary.text, throughSeq: summary.through_seq });
    }
  }
  return { known, last };
}

/** @returns the highest sequence */
async function messages(to: Target, known: Known): Promise<number> {
  const { tx, workspaceId, id, optional } = to;
  let last = 0;
  for await (const batch of batches(rowsOf(to, 'messages', ImportedMessage, MESSAGES))) {
    // A conversation can have begun while the export was made.
    const kept = batch.filter(({ conversation_id: conversationId }) => known.conversations.has(conversationId));
    const attached = new Map<string, string[]>();
    const rows = [];
    for (const message of kept) {
      requireAgent(known.agents, message.agent_id);
      const files = await attachments(to, message);
      if (files.length > 0) attached.set(id(message.id), [...new Set(files.map((file) => file.id))]);
      last = Math.max(last, message.seq, message.shown_seq ?? 0, message.before_seq ?? 0);
      rows.push({
        ...message,
        id: id(message.id),
        conversation_id: id(message.conversation_id),
        workspace_id: workspaceId,
        // The file's words are not this user's, which searches and pages take as a permission.
        sender_id: null,
        agent_id: optional(message.agent_id),
        content: JSON.stringify(importedContent(to, message)),
        ...importedStatus(message),
        mentions: JSON.stringify(message.mentions.map((one) => ({ ...one, agent_id: id(one.agent_id) }))),
        attachments: JSON.stringify(files),
        answer_turn_id: optional(message.answer_turn_id),
        in_reply_to: optional(message.in_reply_to),
        answered_with: optional(message.answered_with),
        schedule_id: optional(message.schedule_id),
        trigger_id: optional(message.trigger_id),
      });
    }
    await restoreMessages(tx, rows);
    for (const [messageId, ids] of attached) await attachUploads(tx, messageId, ids);
  }
  return last;
}

/** As the uploads have them, without files that were lost before the export. */
async function attachments({ file, tx, id }: Target, message: Message): Promise<StoredAttachment[]> {
  const files: StoredAttachment[] = [];
  for (const { id: old } of message.attachments) {
    if (file.sizeOf(filePath(old)) === undefined) continue;
    const upload = await findUpload(tx, id(old));
    if (upload === undefined) throw new ImportFailed('rows_invalid', `file ${old} is missing`);
    files.push(storedAttachment(upload));
  }
  return files;
}

async function artifacts(to: Target, known: Known, documents: ReadonlyMap<string, StoredDocument>): Promise<void> {
  const { tx, workspaceId, id, limits } = to;
  for await (const { versions, ...artifact } of rowsOf(to, 'artifacts', ImportedArtifact, limits.artifacts)) {
    const artifact_id = id(artifact.id);
    const written = versions.map((version) => {
      const document = documents.get(artifactPath(artifact.id, version.version));
      if (document === undefined) throw new ImportFailed('rows_invalid', 'a document is missing');
      return { ...version, ...document, artifact_id, agent_slug: visibleText(version.agent_slug), untrusted: true };
    });
    const { conversation_id: old } = artifact;
    const conversation_id = old !== null && known.conversations.has(old) ? id(old) : null;
    await restoreArtifact(tx, { ...artifact, id: artifact_id, conversation_id, workspace_id: workspaceId }, written);
  }
}

async function schedules(to: Target, known: Known): Promise<void> {
  const { tx, workspaceId, id, limits } = to;
  const rows = [];
  for await (const schedule of rowsOf(to, 'schedules', ImportedSchedule, limits.schedules)) {
    requireAgent(known.agents, schedule.agent_id);
    const { conversation_id: conversation } = schedule;
    // Two installations must not both run it.
    const state = schedule.status === 'finished' ? {} : ({ status: 'paused', paused_by: 'user' } as const);
    rows.push({
      ...schedule,
      ...state,
      ...timesOf(to, schedule),
      id: id(schedule.id),
      agent_id: id(schedule.agent_id),
      conversation_id: conversation !== null && known.conversations.has(conversation) ? id(conversation) : null,
      workspace_id: workspaceId,
    });
  }
  const open = rows.filter(({ status }) => status !== 'finished').length;
  if (open > 0) await requireRoom(tx, workspaceId, limits.schedules - open + 1);
  await restoreSchedules(tx, rows);
}

/** As the API stores them: a schedule that is resumed trusts them. */
function timesOf({ limits, clock }: Target, schedule: z.output<typeof ImportedSchedule>) {
  try {
    const { recurrence } = checkedTimes(schedule, clock.now().getTime(), limits.scheduleIntervalS);
    return { start_time: recurrence.startTime, rrule: recurrence.rrule, time_zone: recurrence.timeZone };
  } catch (error) {
    if (error instanceof InvalidTimes) throw new ImportFailed('rows_invalid', `${error.field} ${error.message}`);
    throw error;
  }
}

async function memories(to: Target, agentIds: ReadonlySet<string>): Promise<void> {
  const { tx, workspaceId, id, limits } = to;
  const counts = new Map<string, number>();
  const maxRows = limits.memories * AGENTS;
  for await (const batch of batches(rowsOf(to, 'memories', ImportedMemory, maxRows))) {
    const sources = batch.flatMap(({ message_id: source }) => (source === null ? [] : [id(source)]));
    const existing = await existingMessages(tx, sources);
    const rows = batch.map(({ scope, agent_id: agentId, message_id: source, ...memory }) => {
      requireAgent(agentIds, agentId);
      const holder = scope === 'workspace' ? scope : agentId;
      counts.set(holder, (counts.get(holder) ?? 0) + 1);
      return {
        ...memory,
        agent_id: id(agentId),
        workspace_id: scope === 'workspace' ? workspaceId : null,
        message_id: source !== null && existing.has(id(source)) ? id(source) : null,
        untrusted: true,
      };
    });
    await restoreMemories(tx, rows);
  }
  if (Math.max(0, ...counts.values()) > limits.memories) throw new ImportFailed('limit_reached', 'too many memories');
}

/** Kept as they were signed. */
async function receipts(to: Target): Promise<void> {
  const { file, tx, workspaceId } = to;
  let number = 0;
  for await (const batch of batches(rowsOf(to, 'receipts', z.looseObject({}), RECEIPTS))) {
    const verified = [];
    for (const receipt of batch) {
      verified.push({ ...(await signed(receipt, file.keys)), number });
      number += 1;
    }
    await insertImportedReceipts(tx, workspaceId, verified);
  }
}

function requireAgent(known: ReadonlySet<string>, id: string | null): void {
  if (id !== null && !known.has(id)) throw new ImportFailed('rows_invalid', `agent ${id} is missing`);
}

/** Later exports contain what was signed, so it must be a receipt. */
async function signed(receipt: unknown, keys: readonly ReceiptKey[]) {
  try {
    const { jws, kid } = await verifiedReceipt(receipt, keys);
    return { jws, kid, x: keys.find((one) => one.kid === kid)?.x ?? '' };
  } catch (error) {
    if (error instanceof ReceiptSignatureError) throw new ImportFailed('signature_invalid', error.message);
    throw error;
  }
}
