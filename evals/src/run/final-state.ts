import {
  type AgentDetails,
  type AgentMemory,
  type AgentSettings,
  type AgentSummary,
  type AgentTool,
  type Artifact,
  type ArtifactSummary,
  emptyReplyText,
  type MessageData,
  type MessageContent,
  type Receipt,
  type WorkspaceUsage,
} from '@uswarm/contract';
import type { GoogleAccount } from '@uswarm/dev-servers';
import type { TaskUser } from './user.js';
import { type FileState, isFile, writtenFiles } from './written-files.js';

type Kind<Type extends MessageContent['type']> = Extract<MessageContent, { type: Type }>;

export interface MailState {
  to: string[];
  subject: string;
  body: string;
}

/** The state after a run, read from the product's API, and from the servers outside. */
export interface FinalState {
  calendar: {
    title: string;
    start: string;
    end: string;
    location: string;
    attendees: string[];
    description: string;
  }[];
  notified: string[];
  sent: MailState[];
  drafts: MailState[];
  memories: { agent: string; key: string; content: string; category: string; scope: string }[];
  agents: {
    slug: string;
    name: string;
    role: string;
    description: string;
    skills: string[];
    model: string;
    instructions: string;
    denied: string[];
  }[];
  artifacts: { title: string; status: string; version: number; content: string; earlier: string[]; agent: string }[];
  files: FileState[];
  receipts: { tool: string; status: string; approved: boolean }[];
  cards: { title: string; description: string; chosen: string | null; withdrawn: boolean }[];
  delegations: { from: string; to: string; status: string; task: string }[];
  workflows: { name: string; status: string; steps: { name: string; agent: string; status: string }[] }[];
  tools: { tool: string; state: string }[];
  requests: string[];
  searched: string[];
  opened: string[];
  replies: { agent: string; text: string; status: string; error: string }[];
  usage: { tokens: number; promptTokens: number; completionTokens: number; modelCalls: number };
}

const addressesOf = (list: readonly { address?: string | undefined }[] | undefined): string[] =>
  (list ?? []).flatMap(({ address }) => (address === undefined ? [] : [address]));

const mailState = ({ parsed }: GoogleAccount['mailbox']['mails'][number]): MailState => ({
  to: [...addressesOf(parsed.to), ...addressesOf(parsed.cc)],
  subject: parsed.subject ?? '',
  body: parsed.text ?? '',
});

/** The calendar and the mailbox. */
export function outsideState({ calendar, mailbox, requests }: GoogleAccount) {
  const momentOf = (time: { date?: string | undefined; dateTime?: string | undefined }): string =>
    time.dateTime ?? time.date ?? '';
  return {
    calendar: [...calendar.events.values()]
      .filter(({ status }) => status !== 'cancelled')
      .map(({ summary = '', start, end, attendees = [], ...others }) => ({
        title: summary,
        start: momentOf(start),
        end: momentOf(end),
        location: String(others['location'] ?? ''),
        description: String(others['description'] ?? ''),
        attendees: attendees.map(({ email }) => email),
      })),
    notified: [...calendar.notified],
    sent: mailbox.mails.filter(({ labels }) => labels.includes('SENT')).map(mailState),
    drafts: mailbox.drafts.map(mailState),
    requests: [...requests],
  };
}

async function artifactsOf(user: TaskUser): Promise<FinalState['artifacts']> {
  const path = `/v1/workspaces/${user.client.workspaceId}/artifacts`;
  const { data: listed } = await user.get<{ data: ArtifactSummary[] }>(`${path}?limit=50`);
  const contentOf = async (id: string, version: number) =>
    (await user.get<{ data: Artifact }>(`${path}/${id}?version=${version}`)).data.content;
  return Promise.all(
    listed.map(async ({ id, title, status, version, agent_slug: agent }) => {
      const numbers = Array.from({ length: version }, (_, index) => index + 1);
      const contents = await Promise.all(numbers.map((number) => contentOf(id, number)));
      return { title, status, version, content: contents.at(-1) ?? '', earlier: contents.slice(0, -1), agent };
    }),
  );
}

const listAgents = async ({ client, get }: TaskUser): Promise<AgentSummary[]> =>
  (await get<{ data: AgentSummary[] }>(`/v1/workspaces/${client.workspaceId}/agents`)).data;

export async function agentsOf(user: TaskUser): Promise<FinalState['agents']> {
  const agents = await listAgents(user);
  return Promise.all(
    agents.map(async ({ id, slug }) => {
      const path = `/v1/agents/${id}`;
      const [{ data: details }, { data: settings }, { data: tools }] = await Promise.all([
        user.get<{ data: AgentDetails }>(`${path}/details`),
        user.get<{ data: AgentSettings }>(`${path}/settings`),
        user.get<{ data: AgentTool[] }>(`${path}/tools`),
      ]);
      const { name, role, description, skills } = details;
      const instructions = settings.prompts.map(({ content }) => content).join('\n');
      const denied = tools.flatMap((tool) => (tool.permission === 'deny' ? [tool.name] : [])).toSorted();
      return { slug, name, role, description, skills, model: settings.model, instructions, denied };
    }),
  );
}

/** A memory of all agents is listed once, for the first agent. */
export async function memoriesOf(user: TaskUser): Promise<FinalState['memories']> {
  const lists = await Promise.all(
    (await listAgents(user)).map(async ({ id, slug: agent }, index) => {
      const { data } = await user.get<{ data: AgentMemory[] }>(`/v1/agents/${id}/memories`);
      const once = data.filter(({ scope }) => scope === 'agent' || index === 0);
      return once.map(({ key, content, category, scope }) => ({ agent, key, content, category, scope }));
    }),
  );
  return lists.flat();
}

/** The contents of one kind. */
const kind = <Type extends MessageContent['type']>(messages: readonly MessageData[], type: Type) =>
  messages.flatMap((message) =>
    message.content.type === type ? [{ message, content: message.content as Kind<Type> }] : [],
  );

const shownState = (messages: readonly MessageData[]) => ({
  cards: kind(messages, 'action_card').map(({ message, content }) => ({
    title: content.title,
    description: content.description,
    chosen: content.selected_action_id ?? null,
    withdrawn: message.extended_status === 'failed',
  })),
  delegations: kind(messages, 'delegation').map(({ content }) => ({
    from: content.from?.slug ?? '',
    to: content.to?.slug ?? '',
    status: content.status,
    task: content.task_preview,
  })),
  workflows: kind(messages, 'workflow').map(({ content }) => ({
    name: content.workflow_name,
    status: content.status,
    steps: content.steps.map(({ name, status, agent_slug: agent }) => ({ name, status, agent })),
  })),
  tools: kind(messages, 'tool_status').map(({ content: { tool, state } }) => ({ tool, state })),
  replies: kind(messages, 'text')
    .filter(({ message }) => message.role === 'agent' && !isFile(message))
    .map(({ message, content }) => ({
      agent: message.agent?.slug ?? '',
      // If a reply ended without a text, the shown one is not an agent's.
      text: content.text === emptyReplyText(message.agent?.name ?? '', message.extended_status) ? '' : content.text,
      status: message.extended_status,
      error: message.error?.code ?? '',
    })),
});

/** @param url the API's */
export async function readFinalState(user: TaskUser, url: string): Promise<FinalState> {
  const { client, google, web, get } = user;
  const pages = await Promise.all((await user.conversations()).map(({ id }) => user.messages(id)));
  const messages = pages.flat().toSorted((a, b) => a.created_at.localeCompare(b.created_at));
  const { data: receipts } = await get<{ data: Receipt[] }>('/v1/receipts?limit=50');
  const { data: usage } = await get<{ data: WorkspaceUsage }>(`/v1/workspaces/${client.workspaceId}/usage`);
  return {
    ...outsideState(google),
    ...shownState(messages),
    memories: await memoriesOf(user),
    agents: await agentsOf(user),
    artifacts: await artifactsOf(user),
    files: await writtenFiles(url, messages),
    receipts: receipts
      .filter(({ effect }) => effect !== 'own')
      .map(({ tool, status, approval }) => ({ tool, status, approved: approval !== null })),
    searched: [...web.queries],
    opened: [...web.opened],
    usage: {
      tokens: usage.tokens_used,
      promptTokens: usage.prompt_tokens_used,
      completionTokens: usage.completion_tokens_used,
      modelCalls: usage.request_count,
    },
  };
}
