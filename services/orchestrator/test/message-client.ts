import type { MessageData, MessagePage, ReplayedEvent } from '@uswarm/contract';
import type { OfferedCard } from '../src/records/approval-card.js';
import type { FinishedReply } from '../src/turns/writer/turn-ending.js';
import type { TurnFixture } from './turn-fixture.js';

export const END = { turnStatus: 'done', messageStatus: 'delivered', text: 'Because.', errorCode: null } as const;
export const TOOL = {
  callId: 'c',
  content: { type: 'tool_status', tool: 't', description: '', state: 'running' },
} as const;
export const CARD: OfferedCard = {
  type: 'action_card',
  title: 'Which?',
  description: '',
  actions: [{ id: 'a', label: 'A', style: 'primary' }],
};

/** Calls to this tool need an approval. */
export const ASKED = { tool: 'gmail', permission: 'ask' } as const;

export const textBody = (text: string, more: object = {}) => ({ content: { type: 'text', text }, ...more });

/** Calls message routes as the fixture's user, and writes replies for the test. */
export function createMessageClient(world: Readonly<TurnFixture>) {
  const pathOf = (id: string) => `${world.home.workspace}/messages/${id}`;
  const say = async (text: string, more: object = {}) =>
    (await world.user.post<{ data: MessageData }>(world.home.messages, textBody(text, more), 201)).body.data;
  const listed = async () => (await world.user.get<MessagePage>(`${world.home.messages}?direction=forward`)).body.data;
  const begin = async () => {
    const writer = await world.turnWorker.writerOf(await world.turnWorker.claim());
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
    queued: async () =>
      (
        await world.uswarm.database
          .selectFrom('turns as t')
          .innerJoin('work as w', 'w.subject_id', 't.id')
          .select(['t.user_message_id', 't.agent_id', 't.status'])
          .where('t.workspace_id', '=', world.home.workspaceId)
          .execute()
      ).map(({ user_message_id, agent_id, status }) => ({ userMessage: user_message_id, agent: agent_id, status })),
    answered: async (text: string, end: Partial<FinishedReply> = {}) => {
      const userMessage = await say(text);
      const { writer, replyId } = await begin();
      await writer.tool(TOOL);
      await writer.offer('k', CARD);
      await writer.note('n', 'A note.');
      await writer.finish({ ...END, ...end });
      return { userMessage: userMessage.id, reply: replyId };
    },
  };
}
