import { create } from '@bufbuild/protobuf';
import { afterEach } from '@jest/globals';
import type { MessageContent } from '@uswarm/contract';
import { TurnEventSchema } from '@uswarm/runtime-proto';
import { silentLogger } from '@uswarm/service-kit';
import type { LimitReached } from '../src/metering/usage-limits.js';
import type { FoundApproval } from '../src/records/approvals.store.js';
import type { UsageEntry } from '../src/records/usage-rows.js';
import { type Refusal, ReplyLimitExceeded } from '../src/turns/content/reply-limit.js';
import { createSafeMarkdown } from '../src/turns/content/reply-text.js';
import type { EntryParts, ToolMessage } from '../src/turns/journal/turn-entries.js';
import type { LiveEvents } from '../src/turns/reply/reply-stream.js';
import { createReply } from '../src/turns/reply/reply.js';
import type { Progress, ReplyTexts } from '../src/turns/reply/turn-progress.store.js';
import type { PlatformTool } from '../src/turns/tools/platform-tool.js';
import type { UntrustedSource } from '../src/turns/tools/untrusted-content.js';
import type { Reserved, UsageOf } from '../src/turns/writer/turn-budget.js';
import type { FinishedReply } from '../src/turns/writer/turn-ending.js';
import type { ProgressSource, StoredCall, TurnWriter } from '../src/turns/writer/turn-writes.js';
import type { TurnRow } from '../src/turns/turns.store.js';
import { createMemoryRules, type MemoryRulesOptions } from './memory-rules.js';
import type { EventInit } from './runtime-script.js';
import { NO_TRANSACTION } from './transaction.js';
import { QUEUED } from './turn-rows.js';

const TURN: TurnRow = {
  ...QUEUED,
  status: 'running',
  reply_message_id: 'r',
  activity: 'reading',
  runtime_instance: 'i',
};
const BEGUN = { replyId: 'r', seq: 1, activity: 'reading', stopRequested: false } as const;

export interface TestReplyOptions extends MemoryRulesOptions {
  turn?: Partial<TurnRow>;
  /** Names tools that the runtime executes. */
  tools?: readonly string[];
  /** The orchestrator executes them, and the runtime may request them. */
  offered?: readonly PlatformTool[];
  /** Names tools that needed an approval when the turn began. */
  asked?: readonly string[];
  /** Kinds of content in the conversation that others wrote. */
  untrusted?: readonly UntrustedSource[];
  /** Another process's progress. */
  saved?: Progress & ReplyTexts;
  /** Another process's calls. */
  calls?: Map<string, StoredCall>;
  /** Called before the turn is suspended. The user can decide then. */
  onSuspend?: (approvals: FoundApproval[]) => void;
  reserve?: () => Reserved;
  /** The token limit that is reached once usage is recorded. */
  reached?: LimitReached;
  /** False if the turn gets no tokens any more. */
  getsTokens?: boolean;
}

let replies = new DisposableStack();
afterEach(() => {
  replies.dispose();
  replies = new DisposableStack();
});

/** A reply whose writer keeps everything that is written, and one turn's calls. */
export function createTestReply(options: TestReplyOptions = {}) {
  const { offered = [], calls = new Map<string, StoredCall>() } = options;
  const untrusted = new Set(options.untrusted);
  const stored = {
    calls,
    untrusted,
    tools: [] as ToolMessage[],
    offers: [] as { key: string; content: MessageContent }[],
    cards: [] as string[],
    usage: [] as (UsageEntry & { of: UsageOf })[],
    reservations: [] as number[],
    finished: [] as FinishedReply[],
    entries: [] as EntryParts[],
    /** The text with which the reply ended while the turn waits. */
    suspended: undefined as string | undefined,
    limits: [] as LimitReached[],
  };
  const shown = {
    chunks: [] as Omit<Parameters<LiveEvents['chunk']>[0], 'generation'>[],
    tools: [] as Parameters<LiveEvents['tool']>[0][],
  };
  /** Messages to the runtime, and refused output. */
  const told = {
    resolutions: [] as string[],
    refusals: [] as Refusal[],
    ended: undefined as string | undefined,
    isDone: false,
  };
  const storedCall = (id: string): StoredCall => calls.get(id) ?? { isDelegated: false };
  const store = (id: string, more: Partial<StoredCall>): void => void calls.set(id, { ...storedCall(id), ...more });
  function suspended(text: string) {
    stored.suspended = text;
    return { seq: 2, activity: undefined };
  }

  let source: ProgressSource | undefined;
  const writer: TurnWriter = {
    begin: async () => BEGUN,
    merge: async () => false,
    showReply: async () => ({ replyId: 'another', seq: 2 }),
    track: (tracked) => void (source = tracked),
    saveProgress: async () => undefined,
    markRead: () => undefined,
    activity: async () => undefined,
    setInstance: async () => false,
    nextGeneration: async () => undefined,
    postpone: async () => undefined,
    judge: async () => 'new',
    async entry(_generation, entry) {
      stored.entries.push(entry);
      return { verdict: 'new' };
    },
    entryLater(_generation, entry, appended) {
      stored.entries.push(entry);
      appended({ verdict: 'new' });
    },
    flush: async () => undefined,
    async tool(tool, reads) {
      if (reads !== undefined) untrusted.add(reads);
      return stored.tools.push(tool);
    },
    async call({ id, reads }, commit) {
      const { text, failed } = await commit(NO_TRANSACTION);
      const outcome = { text, failed, showsMessage: false };
      store(id, { outcome });
      if (reads !== undefined) untrusted.add(reads);
      return { outcome, seq: 2 };
    },
    async ask({ id, card, argumentsHash, key = null, integrationId = null }) {
      stored.cards.push(`${card.title}: ${card.description}`);
      store(id, { approval: { status: 'open', argumentsHash, key, integrationId, decidedAt: null } });
      return 2;
    },
    question: async () => undefined,
    answer: async () => null,
    startTask: async () => 1,
    handOver: async () => ({ seq: 1, activity: undefined }),
    findCall: async (id) => storedCall(id),
    grant: async () => undefined,
    async markSent({ call, key, argumentsHash }) {
      const { integrationId = null } = call;
      store(call.id, { sent: { status: 'sent', key, argumentsHash, outcome: null, integrationId } });
      return undefined;
    },
    async suspend(text, callIds) {
      options.onSuspend?.([...calls.values()].flatMap(({ approval }) => approval ?? []));
      return callIds.every((id) => calls.get(id)?.approval?.status === 'open') ? suspended(text) : undefined;
    },
    offer: async (key, content) => stored.offers.push({ key, content }),
    async reserve({ step }) {
      const reserved = options.reserve?.() ?? 'reserved';
      if (reserved === 'reserved') stored.reservations.push(step);
      return reserved;
    },
    askForTokens: async (text) => suspended(text),
    usage(entry, of, recorded) {
      stored.usage.push({ ...entry, of });
      recorded(options.reached);
    },
    finish: async (finished) => ({ seq: stored.finished.push(finished) }),
    note: async () => undefined,
    noteLimit: async (limit) => void stored.limits.push(limit),
    abandon: async () => ({ seq: 1 }),
  };
  const stopping = new AbortController();
  const reply = createReply(
    {
      turn: { ...TURN, ...options.turn },
      writer,
      receipts: { finish: async () => undefined, recordOwn: async () => undefined },
      rules: createMemoryRules(options, untrusted),
      tokenFor: async (grant) =>
        options.getsTokens === false ? undefined : `token for “${Object.values(grant).join()}”`,
      watchAnswers: () => () => undefined,
      live: {
        tool: (event) => void shown.tools.push(event),
        chunk: ({ generation: _, ...part }) => void shown.chunks.push(part),
      },
      bodies: { put: async ({ body }) => ({ body }) },
      markdown: createSafeMarkdown('https://api.example.com'),
      refused: (refusal) => void told.refusals.push(refusal),
      signal: new AbortController().signal,
      retryMs: 1,
      logger: silentLogger,
      platformTools: offered.map(({ name }) => name),
    },
    BEGUN,
    options.saved,
  );
  replies.use(reply);
  const { asked = [], tools = ['search'] } = options;
  reply.tools = new Set([...tools, ...offered.map(({ name }) => name)]);
  reply.requests.offer({ tools: offered, asked, signal: stopping.signal });

  let number = options.saved?.resumeFrom ?? 0;
  /** @param more Default: the next number, without a barrier. */
  const apply = (event: EventInit, more: { number?: number; barrier?: boolean } = {}): Promise<boolean> => {
    number = more.number ?? number + 1;
    return reply.apply(create(TurnEventSchema, { barrier: false, ...more, number: BigInt(number), event }));
  };

  return {
    reply,
    stored,
    shown,
    told,
    apply,
    /** Progress that is saved with an incomplete event. */
    progress: () => source?.current(false)?.progress,
    /** The user stops the turn. */
    stop: () => stopping.abort(),
    /** Like a stream of the runtime, which waits after announced calls. Ends with the reply. */
    async play(...events: EventInit[]): Promise<void> {
      try {
        for (const event of events) {
          told.isDone = await apply(event, { barrier: event.case === 'tool' });
          told.resolutions.push(
            ...reply.requests.resolutions.map(({ callId, text, toolToken }) => `${callId}: ${text}${toolToken}`),
          );
          reply.requests.acknowledged();
          if (told.isDone) return;
        }
      } catch (error) {
        if (!(error instanceof ReplyLimitExceeded)) throw error;
        told.ended = error.code;
        told.refusals.push(error.refusal);
      }
    },
  };
}
