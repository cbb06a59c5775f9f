import type { Conversation, MessageData, MessageContent } from '@uswarm/contract';
import { foldedMessages } from './folded-messages.js';
import type { TestClient } from './test-client.js';

/** A client's conversation, as it shows it from events and from the history. */
export interface TestConversation {
  id: string;
  send(text: string): Promise<string>;
  /** Chooses a card action. @returns the updated message */
  choose(card: MessageData, actionId: string): Promise<MessageData>;
  stop(messageId: string): Promise<void>;
  /** Resolves with the first matching message of a `message.new` event, including past ones. */
  created(fits: (message: MessageData) => boolean): Promise<MessageData>;
  /** The same for `message.updated`. */
  updated(fits: (message: MessageData) => boolean): Promise<MessageData>;
  /** Contents of this type that events show, in order. */
  shown<Type extends MessageContent['type']>(type: Type): ContentOf<Type>[];
  /** The messages that events show, merged by the API's rule. */
  folded(): MessageData[];
  /** History messages. */
  listed(): Promise<MessageData[]>;
}

type ContentOf<Type extends MessageContent['type']> = Extract<MessageContent, { type: Type }>;

/** True for this content type. */
export const shows =
  <Type extends MessageContent['type']>(type: Type) =>
  (message: MessageData): message is MessageData & { content: ContentOf<Type> } =>
    message.content.type === type;

/** An agent's status in a message is from the time of the event or response; `agent.status` announces changes. */
const withoutAgentStatus = ({ agent, ...message }: MessageData): MessageData => ({
  ...message,
  agent: agent && { ...agent, status: 'online' },
});

/** Creates a conversation with the swarm. */
export async function openConversation(client: TestClient): Promise<TestConversation> {
  const workspace = `/v1/workspaces/${client.workspaceId}`;
  const { body } = await client.api('POST', `${workspace}/conversations`, { type: 'swarm', agent_id: null });
  const { id } = (body as { data: Conversation }).data;
  const isHere = (message: MessageData): boolean => message.conversation_id === id;

  async function saw(name: 'message.new' | 'message.updated', fits: (message: MessageData) => boolean) {
    const isIt = ({ message }: { message: MessageData }): boolean => isHere(message) && fits(message);
    return (await client.saw(name, isIt)).payload['message'] as MessageData;
  }

  return {
    id,
    send: (text) => client.send(text, id),
    async choose(card, actionId) {
      const path = `${workspace}/messages/${card.id}/action`;
      const answer = await client.api('POST', path, { action_id: actionId });
      return withoutAgentStatus((answer.body as { data: MessageData }).data);
    },
    async stop(messageId) {
      await client.api('POST', `${workspace}/messages/${messageId}/stop`);
    },
    created: (fits) => saw('message.new', fits),
    updated: (fits) => saw('message.updated', fits),
    shown: (type) =>
      client.events
        .filter(({ name }) => name === 'message.new' || name === 'message.updated')
        .map(({ payload }) => payload['message'] as MessageData)
        .filter(isHere)
        .filter(shows(type))
        .map(({ content }) => content),
    folded: () => foldedMessages(client.events, id).map(withoutAgentStatus),
    async listed() {
      const path = `${workspace}/conversations/${id}/messages?direction=forward&limit=100`;
      const page = (await client.api('GET', path)).body as { data: MessageData[] };
      return page.data.map(withoutAgentStatus);
    },
  };
}
