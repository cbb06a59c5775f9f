import type { MessageData, MessagePage, ReplayedEvent } from '@uswarm/contract';
import type { OfferedContent } from '../src/features/turns/agent-content-schema.js';
import type { FinishedReply } from '../src/features/turns/turn-writer.js';
import type { TurnWorld } from './turns.js';

export const END = { turnStatus: 'done', messageStatus: 'delivered', text: 'Because.', errorCode: null } as const;
export const TOOL = {
  callId: 'c',
  content: { type: 'tool_status', tool: 't', description: '', state: 'running' },
} as const;
export const CARD: OfferedContent = {
  type: 'action_card',
  title: 'Which?',
  description: '',
  actions: [{ id: 'a', label: 'A', style: 'primary' }],
};

export const textBody = (text: string, more: object = {}) => ({ content: { type: 'text', text }, ...more });

/** What a user does with messages, and replies that the test writes itself. */
export function createRevisions(world: Readonly<TurnWorld>) {
  const pathOf = (id: string) => `${world.home.workspace}/messages/${id}`;
  const say = async (text: string, more: object = {}) =>
    (await world.user.post<{ data: MessageData }>(world.home.messages, textBody(text, more), 201)).body.data;
  const listed = async () => (await world.user.get<MessagePage>(`${world.home.messages}?direction=forward`)).body.data;
  const begin = async () => {
    const writer = await world.taker.writerOf(await world.taker.claim());
    const { replyId } = await writer.begin();
    return { writer, replyId };
  };
  return {
    pathOf,
    say,
    listed,
    begin,
    regenerate: async (id: string) =>
      (await world.user.post<{ data: MessageData }>(`${pathOf(id)}/regenerate`, undefined, 200)).body.data,
    regenerateRefusal: (id: string) => world.user.refusal('POST', `${pathOf(id)}/regenerate`),
    edit: async (id: string, text: string, more: object = {}) =>
      (await world.user.patch<{ data: MessageData }>(pathOf(id), textBody(text, more), 200)).body.data,
    editRefusal: (id: string, text = 'new', more: object = {}) =>
      world.user.refusal('PATCH', pathOf(id), textBody(text, more)),
    ids: async () => (await listed()).map(({ id }) => id),
    events: async () => (await world.user.get<{ data: ReplayedEvent[] }>(`${world.home.workspace}/events`)).body.data,
    /** The turns that wait or run. */
    queued: async () =>
      (
        await world.uswarm.database
          .selectFrom('turns as t')
          .innerJoin('work as w', 'w.subject_id', 't.id')
          .select(['t.user_message_id', 't.agent_id', 't.status'])
          .where('t.workspace_id', '=', world.home.workspaceId)
          .execute()
      ).map(({ user_message_id, agent_id, status }) => ({ question: user_message_id, agent: agent_id, status })),
    /** A question with a reply that ended in some way, and what the reply used. */
    answered: async (text: string, end: Partial<FinishedReply> = {}) => {
      const question = await say(text);
      const { writer, replyId } = await begin();
      await writer.tool(1, TOOL);
      await writer.offer('k', CARD);
      await writer.note('n', 'A note.');
      await writer.finish({ ...END, ...end });
      return { question: question.id, reply: replyId };
    },
  };
}
