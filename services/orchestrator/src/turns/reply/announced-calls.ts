import { create } from '@bufbuild/protobuf';
import { READ_PAGE_TOOL, WEB_SEARCH_TOOL } from '@uswarm/contract/agent-tools';
import { LIMITS } from '@uswarm/contract';
import { type Resolution, ResolutionSchema, type Tool } from '@uswarm/runtime-proto';
import { type McpGrant, pageAddress } from '@uswarm/service-kit';
import { approvalCard, callHash } from '../../records/approval-card.js';
import type { FoundApproval } from '../../records/approvals.store.js';
import type { CallRules } from '../tools/call-rules.js';
import { askedBecause } from '../tools/untrusted-content.js';
import type { TurnRow } from '../turns.store.js';
import type { TurnWriter } from '../writer/turn-writes.js';

const NOT_SEARCHED =
  'was not called. The query contains text of the memories, documents, mails or events of the user, and this conversation has ' +
  'content from others, which can ask for such a search. Leave that text out, or ask the user to write the words to search for.';
/** Searches and page reads per turn in a conversation with content from others, which can ask for many small ones. */
const MAX_LOOKUPS = 5;
const TOO_MANY = `was not called. After content from others, a reply can make at most ${MAX_LOOKUPS} searches and page reads. Answer with what you have, or ask the user to continue.`;
const DIFFERS = 'was not called. The address differs from the one that the user approved.';
const ASKED = 'was not called. The user must approve the address first.';
const TURNED_OFF = 'was not called. The user has turned this tool off.';

const REFUSALS: Record<Exclude<FoundApproval['status'], 'approved' | 'open'>, string> = {
  denied: 'was not called. The user denied opening this address. Do not repeat it.',
  expired: `was not called. The user did not approve the address within ${LIMITS.approvalHours} hours.`,
  superseded: 'was not called. The user sent another message instead of approving the address.',
  outdated: 'was not called. The user approved the address, but too long ago. Ask the user again.',
};

export interface AnnouncedCallDeps {
  turn: Pick<TurnRow, 'id' | 'agent_id' | 'workspace_id' | 'conversation_id' | 'user_id'>;
  rules: Pick<CallRules, 'untrustedSources' | 'sharesPrivateText' | 'knowsAddress' | 'lookups' | 'permission'>;
  /** Asks the user, and finds what the user decided. */
  writer: Pick<TurnWriter, 'ask' | 'findCall' | 'grant'>;
  /** Token for one call; undefined if the turn must not call tools any more. */
  tokenFor: (grant: McpGrant) => Promise<string | undefined>;
}

/** A call that waits for the user, and the number of the event that announced it. */
interface WaitingCall {
  call: Tool;
  number: bigint;
}

type Verdict = 'call' | { refused: string } | { waits: true; seq?: number };

const isLookup = (tool: string): boolean => tool === WEB_SEARCH_TOOL || tool === READ_PAGE_TOOL;

/**
 * Answers each announced call with a token for that call, with a refusal, or by asking the user. In a conversation with content
 * from others, an address needs approval unless all of it is known: an address that a model puts together can carry any text
 * to any host, also encoded or in several pieces.
 */
export function createAnnouncedCalls({ turn, rules, writer, tokenFor }: AnnouncedCallDeps) {
  const place = { workspaceId: turn.workspace_id, conversationId: turn.conversation_id, userId: turn.user_id };
  /** Untrusted content stays in a conversation, so a positive result is final. */
  let known = false;
  let waiting: WaitingCall[] = [];
  /** Calls after the conversation got content from others, by id; and how many another process has granted. */
  const granted = new Set<string>();
  let before: Promise<number> | undefined;

  /** @returns false if the turn has made as many as it may */
  async function countsLookup(callId: string): Promise<boolean> {
    if (granted.has(callId)) return true;
    before ??= rules.lookups({ id: turn.id, conversationId: turn.conversation_id });
    if ((await before) + granted.size >= MAX_LOOKUPS) return false;
    granted.add(callId);
    return true;
  }

  /** Decides on an address that only the model has written. */
  async function decisionOn({ callId, tool }: Tool, url: URL): Promise<Verdict> {
    const stored = await writer.findCall(callId);
    if (stored.outcome?.failed === true) return { refused: stored.outcome.text };
    const permission = await rules.permission(turn.agent_id, { switchedBy: tool, effect: 'read' });
    if (permission === 'deny') return { refused: TURNED_OFF };
    const argumentsHash = callHash(tool, { url: url.href });
    const { approval } = stored;
    if (approval === undefined) {
      const sources = await rules.untrustedSources(turn.conversation_id);
      const preview = { title: `Open a page of ${url.hostname}`, changes: [{ label: 'Address', after: url.href }] };
      const card = approvalCard(preview, { tool, permission }, askedBecause(sources));
      return { waits: true, seq: await writer.ask({ id: callId, tool, argumentsHash, card }) };
    }
    if (!approval.argumentsHash.equals(argumentsHash)) return { refused: DIFFERS };
    if (approval.status === 'open') return { waits: true };
    if (approval.status !== 'approved') return { refused: REFUSALS[approval.status] };
    await writer.grant({ id: callId, tool });
    return 'call';
  }

  async function verdictOn(call: Tool, untrusted: boolean): Promise<Verdict> {
    if (!untrusted || !isLookup(call.tool)) return untrusted ? await queryVerdict(call) : 'call';
    if (call.tool === WEB_SEARCH_TOOL) {
      const verdict = await queryVerdict(call);
      return verdict !== 'call' || (await countsLookup(call.callId)) ? verdict : { refused: TOO_MANY };
    }
    const url = pageAddress(call.query);
    // The tool server refuses the address.
    if (url === undefined) return 'call';
    const isKnown = await rules.knowsAddress(turn.conversation_id, url);
    const verdict = isKnown ? 'call' : await decisionOn(call, url);
    if (verdict !== 'call') return verdict;
    return (await countsLookup(call.callId)) ? 'call' : { refused: TOO_MANY };
  }

  async function queryVerdict({ query }: Tool): Promise<Verdict> {
    return (await rules.sharesPrivateText(place, query)) ? { refused: NOT_SEARCHED } : 'call';
  }

  return {
    async hasUntrusted(): Promise<boolean> {
      if (!known) known = (await rules.untrustedSources(turn.conversation_id)).length > 0;
      return known;
    },

    get waitingCalls(): string[] {
      return waiting.map(({ call }) => call.callId);
    },

    /** The calls that waited, so that they are answered again. */
    takeWaiting(): WaitingCall[] {
      const taken = waiting;
      waiting = [];
      return taken;
    },

    /**
     * @param untrusted true if the conversation had content from others before the call
     * @returns the answer, and the sequence of the event that asks the user, if any
     */
    async answer(
      call: Tool,
      { offered, untrusted, number }: { offered: boolean; untrusted: boolean; number: bigint },
    ): Promise<{ resolution: Resolution; seq?: number | undefined }> {
      const { callId, tool, query } = call;
      const refusal = (text: string, waits = false) =>
        create(ResolutionSchema, { callId, text: `${tool}: ${text}`, failed: true, waits });
      if (!offered) return { resolution: refusal('unknown tool.') };
      const verdict = await verdictOn(call, untrusted);
      if (typeof verdict === 'object' && 'waits' in verdict) {
        waiting = [...waiting.filter((one) => one.call.callId !== callId), { call, number }];
        return { resolution: refusal(ASKED, true), seq: verdict.seq };
      }
      if (verdict !== 'call') return { resolution: refusal(verdict.refused) };
      const toolToken = await tokenFor(tool === READ_PAGE_TOOL ? { page: query } : { query });
      const resolution =
        toolToken === undefined ? refusal('the turn has ended.') : create(ResolutionSchema, { callId, toolToken });
      return { resolution };
    },
  };
}

/** Steps increase within a generation. */
export interface AnnouncedSteps {
  /** 0 if no call has reserved tokens. */
  readonly last: number;
  /** Called when a generation begins or another process continues. */
  restore(step: number): void;
  /** Marks the call while its tokens are being reserved. */
  begin(step: number): void;
  /** @param reserved true if the runtime may make the call */
  end(reserved: boolean): void;
  /** The last step after a write that reserves the current call's tokens if it completes its event. */
  stored(completes: boolean): number;
}

export function createAnnouncedSteps(): AnnouncedSteps {
  let last = 0;
  let current = 0;
  const restore = (step: number): void => {
    last = step;
    current = step;
  };
  return {
    get last() {
      return last;
    },
    restore,
    begin: (step) => void (current = step),
    end: (reserved) => restore(reserved ? current : last),
    stored: (completes) => (completes ? current : last),
  };
}
