import { ApiError } from '@uswarm/contract';
import { z } from 'zod';
import type { Question, TextQuestion } from '../ask.js';
import { chatIn, type ProgramHeaders } from '../conversation-of.js';

const absent = <Schema extends z.ZodType>(schema: Schema) => schema.nullish().transform((value) => value ?? undefined);

const Content = absent(z.union([z.string(), z.array(z.object({ type: z.string(), text: absent(z.string()) }))]));

/** The user's newest message: the earlier ones are in the conversation, and may contain anything. */
const Newest = z
  .array(z.object({ role: z.unknown(), content: z.unknown() }))
  .min(1)
  .transform((items) => items.findLast(({ role }) => role === 'user')?.content)
  .pipe(Content);
const common = {
  model: z.string().min(1),
  stream: absent(z.boolean()),
  metadata: absent(z.object({ workspace_id: absent(z.string()), conversation_id: absent(z.string()) })),
};

const Chat = z.object({
  ...common,
  messages: Newest,
  stream_options: absent(z.object({ include_usage: absent(z.boolean()) })),
});
const Responses = z.object({
  ...common,
  input: z.union([z.string(), Newest]),
  previous_response_id: absent(z.string()),
  conversation: absent(z.union([z.string(), z.object({ id: z.string() }).transform(({ id }) => id)])),
});

/** The fields that both requests have under different names. */
export type DoorRequest = Pick<z.output<typeof Chat>, 'model' | 'stream' | 'metadata'> & {
  content: z.output<typeof Content>;
  includeUsage?: boolean;
  conversation?: string | undefined;
  previousId?: string | undefined;
};

export const ChatRequest = Chat.transform(({ messages: content, stream_options: options, ...rest }): DoorRequest => ({
  ...rest,
  content,
  includeUsage: options?.include_usage === true,
}));
export const ResponsesRequest = Responses.transform(
  ({ input: content, previous_response_id: previousId, ...rest }): DoorRequest => ({ ...rest, content, previousId }),
);

/** @throws ApiError `content_type_not_allowed` */
export function questionOf(request: DoorRequest, headers: ProgramHeaders): TextQuestion {
  const { model: agent, metadata, content = '' } = request;
  const says = { text: textIn(content) };
  return { agent, workspaceId: metadata?.workspace_id, continues: continuesOf(request, headers), says };
}

/** Our conversation takes precedence over the program's chat. */
function continuesOf(request: DoorRequest, headers: ProgramHeaders): Question['continues'] {
  const { metadata, conversation = metadata?.conversation_id, previousId } = request;
  if (conversation !== undefined) return { conversationId: conversation.replace(/^conv_/, '') };
  if (previousId !== undefined) return { questionId: previousId.replace(/^resp_/, '') };
  return chatIn(headers);
}

/** Of the protocol's types, only texts have a meaning here. */
function textIn(content: NonNullable<DoorRequest['content']>): string {
  if (typeof content === 'string') return content;
  const odd = content.find(({ type }) => type !== 'text' && type !== 'input_text');
  if (odd !== undefined)
    throw new ApiError('content_type_not_allowed', { message: `Content of the type ${odd.type} is not supported.` });
  return content.map(({ text }) => text ?? '').join('\n');
}
