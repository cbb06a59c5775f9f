import { ApiError } from '@uswarm/contract';
import { z } from 'zod';
import { isId } from '../../platform/database/id.js';
import type { Question } from '../ask.js';
import type { Decision, Says } from '../question-of.js';

/** Fields that the protocol defines later are kept, so that they can be sent back. */
const Message = z.looseObject({
  id: z.string().min(1),
  role: z.string(),
  content: z.unknown().optional(),
  toolCalls: z.array(z.looseObject({ id: z.string() })).optional(),
  toolCallId: z.string().optional(),
});
export type ClientMessage = z.output<typeof Message>;

const Resume = z.object({
  interruptId: z.string(),
  status: z.enum(['resolved', 'cancelled']),
  payload: z.unknown().optional(),
});

export const RunInput = z.object({
  threadId: z.string().min(1).max(512),
  runId: z.string().min(1).max(512),
  messages: z.array(Message),
  resume: z.array(Resume).optional(),
  forwardedProps: z.unknown().optional(),
});
export type RunInput = z.output<typeof RunInput>;

/** Where a question goes: in the address, or in `forwardedProps`, which apps can change for each run. */
const Target = z.object({ agent: z.string().min(1).optional(), workspace_id: z.string().optional() }).catch({});

/** @throws ApiError `validation_failed` */
export function questionOf(input: RunInput, query: unknown): Question {
  const { agent = 'swarm', workspace_id: workspaceId } = {
    ...Target.parse(query),
    ...Target.parse(input.forwardedProps),
  };
  return { agent, workspaceId, continues: { chat: input.threadId }, says: saidIn(input) };
}

function saidIn({ runId, messages, resume = [] }: RunInput): Says {
  if (resume.length > 0) return { decisions: resume.map(decisionOf) };
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  // Without a new question, the run continues an answer that the client has in part.
  const message = messages.slice(asked + 1).find(({ id, role }) => role === 'assistant' && isId(id));
  if (message !== undefined) return { message: message.id };
  return { text: asked === -1 ? undefined : textIn(messages[asked]?.content), key: runId };
}

/** Parts that agents cannot read are left out, as the protocol demands. */
function textIn(content: unknown): string {
  const parts = z.array(z.object({ type: z.string(), text: z.string().catch('') })).safeParse(content);
  const text =
    typeof content === 'string'
      ? content
      : (parts.data ?? [])
          .filter(({ type }) => type === 'text')
          .map((part) => part.text)
          .join('\n');
  if (text.trim() !== '') return text;
  const fields = [{ path: 'messages', message: 'the last message of the user must have a text' }];
  throw new ApiError('validation_failed', { extra: { fields } });
}

const Chosen = z.object({ action_id: z.string(), values: z.record(z.string(), z.array(z.string())).optional() });
const Approved = z.union([z.boolean(), z.object({ approved: z.boolean() }).transform(({ approved }) => approved)]);

/** @throws ApiError `validation_failed` */
function decisionOf({ interruptId: cardId, status, payload }: z.output<typeof Resume>): Decision {
  if (status === 'cancelled') return { cardId, actionId: undefined };
  const chosen = Chosen.safeParse(payload);
  if (chosen.success) return { cardId, actionId: chosen.data.action_id, values: chosen.data.values };
  const approved = Approved.safeParse(payload);
  if (approved.success) return { cardId, actionId: approved.data ? 'approve' : undefined };
  const fields = [{ path: 'resume.payload', message: 'must be as in `responseSchema` of the interrupt' }];
  throw new ApiError('validation_failed', { extra: { fields } });
}
