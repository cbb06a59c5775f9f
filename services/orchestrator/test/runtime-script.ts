import type { MessageInitShape } from '@bufbuild/protobuf';
import { type Code, ConnectError } from '@connectrpc/connect';
import { AgentActivity, EntryKind, Outcome, ToolState, type TurnEventSchema } from '@uswarm/runtime-proto';

type EventInit = NonNullable<MessageInitShape<typeof TurnEventSchema>['event']>;
/** One `runTurn` call: its events, then the end of the stream or an error. */
export interface Call {
  events?: EventInit[];
  error?: ConnectError;
  /** Event numbers, from 1 within the call, at which the runtime waits for a commit. */
  barriers?: number[];
  atTheEnd?: () => void | Promise<void>;
}

export const failure = (code: Code): Call => ({ error: new ConnectError('', code) });
export const chunk = (text: string): EventInit => ({ case: 'chunk', value: { text } });
export const thinking: EventInit = { case: 'activity', value: { activity: AgentActivity.THINKING } };
export const done = (text = ''): EventInit => ({ case: 'done', value: { outcome: Outcome.COMPLETED, text } });
export const ANSWERED: Call = { events: [done('42')] };
export const used: EventInit = {
  case: 'usage',
  value: { step: 1, provider: 'p', model: 'm', promptTokens: 6n, completionTokens: 4n },
};
export const entry = (number: number, kind = EntryKind.STEP, body = '{}'): EventInit => ({
  case: 'entry',
  value: { number, kind, body },
});
export const tool: EventInit = { case: 'tool', value: { callId: 'c', tool: 't', state: ToolState.RUNNING } };
export const stopped: EventInit = { case: 'done', value: { outcome: Outcome.STOPPED } };
