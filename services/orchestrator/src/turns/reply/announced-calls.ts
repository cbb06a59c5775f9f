import { create } from '@bufbuild/protobuf';
import { type Resolution, ResolutionSchema, type Tool } from '@uswarm/runtime-proto';
import type { CallRules } from '../tools/call-rules.js';
import type { TurnRow } from '../turns.store.js';

const NOT_SEARCHED =
  'was not called. The query contains text of the memories, documents, mails or events of the user, and this conversation has ' +
  'content of others, which can ask for such a search. Leave that text out, or ask the user to write the words to search for.';

export interface AnnouncedCallDeps {
  turn: Pick<TurnRow, 'workspace_id' | 'conversation_id'>;
  rules: Pick<CallRules, 'untrustedSources' | 'sharesPrivateText'>;
  /** Token for one query; undefined if the turn must not call tools any more. */
  tokenFor: (query: string) => Promise<string | undefined>;
}

/** Answers announced tool server calls: with a token for this call only, or with why it is not made. */
export function createAnnouncedCalls({ turn, rules, tokenFor }: AnnouncedCallDeps) {
  const place = { workspaceId: turn.workspace_id, conversationId: turn.conversation_id };
  /** Untrusted content stays in a conversation, so a positive result is final. */
  let known = false;
  return {
    async hasUntrusted(): Promise<boolean> {
      if (!known) known = (await rules.untrustedSources(turn.conversation_id)).length > 0;
      return known;
    },

    /** @param untrusted true if the conversation had content from others before the call */
    async answer({ callId, tool, query }: Tool, offered: boolean, untrusted: boolean): Promise<Resolution> {
      const refusal = (text: string) => create(ResolutionSchema, { callId, text: `${tool}: ${text}`, failed: true });
      if (!offered) return refusal('unknown tool.');
      if (untrusted && (await rules.sharesPrivateText(place, query))) return refusal(NOT_SEARCHED);
      const toolToken = await tokenFor(query);
      return toolToken === undefined ? refusal('the turn has ended.') : create(ResolutionSchema, { callId, toolToken });
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
