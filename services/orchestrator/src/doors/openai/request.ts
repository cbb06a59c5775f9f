import { ApiError } from '@uswarm/contract';
import { z } from 'zod';
import type { Question, TextQuestion } from '../ask.js';
import { chatIn, type ProgramHeaders } from '../conversation-of.js';

const absent = <Schema extends z.ZodType>(schema: Schema) => schema.nullish().transform((value) => value ?? undefined);

/** Programs send the types of OpenAI's protocol, of which only texts have a meaning here. */
const Item = z.object({
  role: absent(z.string()),
  content: absent(z.union([z.string(), z.array(z.object({ type: z.string(), text: absent(z.string()) }))])),
});
const common = {
  model: z.string().min(1),
  stream: absent(z.boolean()),
  metadata: absent(z.object({ workspace_id: absent(z.string()), conversation_id: absent(z.string()) })),
};

const Chat = z.object({
  ...common,
  messages: z.array(Item).min(1),
  stream_options: absent(z.object({ include_usage: absent(z.boolean()) })),
});
const Responses = z.object({
  ...common,
  input: z.union([z.string(), z.array(Item).min(1)]),
  previous_response_id: absent(z.string()),
  conversation: absent(z.union([z.string(), z.object({ id: z.string() }).transform(({ id }) => id)])),
});

/** The fields that both requests have under different names. */
export type DoorRequest = Pick<z.output<typeof Chat>, 'model' | 'stream' | 'metadata'> & {
  items: z.output<typeof Responses>['input'];
  includeUsage?: boolean;
  conversation?: string | undefined;
  previousId?: string | undefined;
};

export const ChatRequest = Chat.transform(({ messages: items, stream_options: options, ...rest }): DoorRequest => ({
  ...rest,
  items,
  includeUsage: options?.include_usage === true,
}));
export const ResponsesRequest = Responses.transform(
  ({ input: items, previous_response_id: previousId, ...rest }): DoorRequest => ({ ...rest, items, previousId }),
);

/** @throws ApiError `content_type_not_allowed` */
export function questionOf(request: DoorRequest, headers: ProgramHeaders): TextQuestion {
  const { model: agent, metadata, items } = request;
  const says = { text: textIn(items) };
  return { agent, workspaceId: metadata?.workspace_id, continues: continuesOf(request, headers), says };
}

/** Our conversation takes precedence over the program's chat. */
function continuesOf(request: DoorRequest, headers: ProgramHeaders): Question['continues'] {
  const { metadata, conversation = metadata?.conversation_id, previousId } = request;
  if (conversation !== undefined) return { conversationId: conversation.replace(/^conv_/, '') };
  if (previousId !== undefined) return { questionId: previousId.replace(/^resp_/, '') };
  return chatIn(headers);
}

/** The user's newest message: the earlier ones are in the conversation. */
function textIn(items: DoorRequest['items']): string {
  const content = typeof items === 'string' ? items : (items.findLast(({ role }) => role === 'user')?.content ?? '');
  if (typeof content === 'string') return content;
  const odd = content.find(({ type }) => type !== 'text' && type !== 'input_text');
  if (odd !== undefined)
    throw new ApiError('content_type_not_allowed', { message: `Content of the type ${odd.type} is not supported.` });
  return content.map(({ text }) => text ?? '').join('\n');
}
