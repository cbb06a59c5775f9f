import { setTimeout as sleep } from 'node:timers/promises';
import type { Attachment, MessageData, ServerEventName } from '@uswarm/contract';
import { HarnessError } from '../stack/local-program.js';
import type { Stack } from '../stack/stack.js';
import { matches } from '../score/match.js';
import type { UserStep, WorldFile } from '../tasks/task.js';
import { bytesOf } from '../world/files.js';
import { agentId, type TaskUser } from './user.js';

type StepOf<Name extends string> = Extract<UserStep, Record<Name, unknown>>;

/** The user cannot take a step, because of what the agents did. */
export class StepFailed extends Error {
  override name = 'StepFailed';
}

/** Milliseconds after which the state is read again, although no event has announced a change. */
const POLL_MS = 500;

const UPLOAD_PAUSE_MS = 2_000;

export interface StepContext {
  stack: Stack;
  user: TaskUser;
  /** Aborts when the run's time is over. */
  signal: AbortSignal;
  /** Lets the model continue where its script waits. */
  release(): void;
}

/** Waits for an event, or until the state has to be read again. */
async function pause({ user: { client }, signal }: StepContext, event: ServerEventName): Promise<void> {
  const changed = Promise.withResolvers<void>();
  client.socket.once(event, changed.resolve);
  await Promise.race([sleep(POLL_MS, undefined, { signal }), changed.promise]);
  client.socket.off(event, changed.resolve);
}

/** Resolves when no turn is queued or runs: all have ended, or wait for the user. */
async function idle(context: StepContext): Promise<void> {
  const { stack, user } = context;
  context.release();
  for (;;) {
    const { turns } = await stack.operator.call('workspace.show', { workspace_id: user.client.workspaceId });
    if (turns.queued + turns.running === 0) return;
    await pause(context, 'message.done');
  }
}

async function allMessages(user: TaskUser): Promise<MessageData[]> {
  const pages = await Promise.all((await user.conversations()).map(({ id }) => user.messages(id)));
  return pages.flat();
}

/** Waits for a message. @throws StepFailed if the agents are done without it */
async function waitFor(context: StepContext, what: string, fits: (message: MessageData) => boolean) {
  const { stack, user } = context;
  for (;;) {
    // Read before the messages, which are complete if it is idle.
    const { turns } = await stack.operator.call('workspace.show', { workspace_id: user.client.workspaceId });
    const found = (await allMessages(user)).findLast(fits);
    if (found !== undefined) return found;
    if (turns.queued + turns.running === 0) throw new StepFailed(`no ${what} exists`);
    await pause(context, 'message.chunk');
  }
}

const workspaceOf = ({ client }: TaskUser): string => `/v1/workspaces/${client.workspaceId}`;

async function conversationWith(
  user: TaskUser,
  { to: slug, conversation: title }: Pick<StepOf<'say'>, 'to' | 'conversation'>,
): Promise<string> {
  if (title !== undefined) return user.conversation(title);
  if (slug === undefined) return user.client.conversationId;
  const known = (await user.conversations()).find(({ agent }) => agent?.slug === slug);
  if (known !== undefined) return known.id;
  const body = { type: 'agent', agent_id: agentId(user, slug) };
  const { data } = (await user.must('POST', `${workspaceOf(user)}/conversations`, body)) as { data: { id: string } };
  return data.id;
}

/** Waits while the product limits uploads, as the app does. */
async function upload({ stack, user, signal }: StepContext, file: WorldFile): Promise<Attachment> {
  const form = new FormData();
  form.append('file', new Blob([await bytesOf(file)]), file.name);
  const headers = { 'x-token': user.client.token };
  const send = () => fetch(`${stack.local.url}/v1/uploads`, { method: 'POST', headers, body: form, signal });
  let response = await send();
  while (response.status === 429) {
    await sleep(UPLOAD_PAUSE_MS, undefined, { signal });
    response = await send();
  }
  if (response.status !== 201)
    throw new HarnessError(`the upload returned ${response.status}: ${await response.text()}`);
  return ((await response.json()) as { data: Attachment }).data;
}

async function say(context: StepContext, step: StepOf<'say'>): Promise<void> {
  const { user } = context;
  const conversation = await conversationWith(user, step);
  const names = (step.mention ?? []).map((slug) => ({ id: agentId(user, slug), text: `@${slug}` }));
  const text = [...names.map((name) => name.text), step.say].join(' ');
  const mentions = names.map((name) => ({
    agent_id: name.id,
    agent_name: name.text.slice(1),
    offset: text.indexOf(name.text),
    length: name.text.length,
  }));
  const path = `${workspaceOf(user)}/conversations/${conversation}/messages`;
  const attachments: Attachment[] = [];
  for (const file of step.files ?? []) attachments.push(await upload(context, file));
  const message = { content: { type: 'text', text }, mentions, attachments };
  const { status, body } = await user.client.api('POST', path, message);
  const code = status < 300 ? undefined : (body as { code: string }).code;
  if (code !== step.refused)
    throw new StepFailed(`the message was ${code === undefined ? 'accepted' : `refused: ${code}`}`);
}

const isOpenCard = ({ content, extended_status: status }: MessageData): boolean =>
  content.type === 'action_card' && (content.selected_action_id ?? null) === null && status !== 'failed';

async function chooseOnCard({ user }: StepContext, { card, title }: StepOf<'card'>): Promise<void> {
  const open = (await allMessages(user)).filter(isOpenCard);
  const found = open.find(
    ({ content }) => 'title' in content && (title === undefined || matches(content.title, title)),
  );
  if (found === undefined || found.content.type !== 'action_card')
    throw new StepFailed(`the card to ${card} is missing`);
  const action = found.content.actions.find(
    ({ id, label }) => id === card || label.toLowerCase() === card.toLowerCase(),
  );
  if (action === undefined) throw new StepFailed(`the card has no action ${card}`);
  await user.must('POST', `${workspaceOf(user)}/messages/${found.id}/action`, { action_id: action.id });
}

const isRunning = ({ content }: MessageData): boolean =>
  content.type === 'loading' || ('status' in content && content.status === 'running');

const agentOf = ({ content, agent }: MessageData): string | undefined =>
  content.type === 'delegation' ? content.to?.slug : agent?.slug;

const isWriting = (user: TaskUser, messageId: string): boolean =>
  user.client.events.some(({ name, payload }) => name === 'message.chunk' && payload['message_id'] === messageId);

async function stop(context: StepContext, step: StepOf<'stop'>): Promise<void> {
  const { user } = context;
  const ofAgent = (message: MessageData): boolean => step.agent === undefined || agentOf(message) === step.agent;
  const target = await waitFor(context, `${step.stop} to stop`, (message) => {
    if (!ofAgent(message)) return false;
    const { content } = message;
    if (step.stop === 'reply') return content.type === 'loading' && isWriting(user, message.id);
    return content.type === step.stop && 'status' in content && content.status === 'running';
  });
  // It may have ended in the meantime.
  const { status } = await user.client.api('POST', `${workspaceOf(user)}/messages/${target.id}/stop`);
  if (status >= 300 && status !== 409) throw new StepFailed(`stopping returned ${status}`);
  // The model's script goes on only afterwards.
  await waitFor(context, `end of the ${step.stop}`, (message) => message.id === target.id && !isRunning(message));
}

async function steer(context: StepContext, step: StepOf<'steer'>): Promise<void> {
  const { user } = context;
  const reply = await waitFor(
    context,
    'reply to steer',
    ({ id, content }) => content.type === 'loading' && isWriting(user, id),
  );
  const path = `${workspaceOf(user)}/conversations/${reply.conversation_id}/messages`;
  await user.must('POST', path, { content: { type: 'text', text: step.steer }, steer: true });
}

async function lastMessage(user: TaskUser, role: MessageData['role']): Promise<MessageData> {
  const found = (await allMessages(user)).findLast(
    ({ role: of, content }) => of === role && (content.type === 'text' || content.type === 'loading'),
  );
  if (found === undefined) throw new StepFailed(`no message of role ${role} exists`);
  return found;
}

async function act(context: StepContext, step: UserStep): Promise<void> {
  const { user } = context;
  if ('say' in step) return say(context, step);
  if ('card' in step) return chooseOnCard(context, step);
  if ('stop' in step) return stop(context, step);
  if ('steer' in step) return steer(context, step);
  if ('permit' in step) return user.permit(step.permit);
  if ('edit' in step) {
    const { id } = await lastMessage(user, 'user');
    await user.must('PATCH', `${workspaceOf(user)}/messages/${id}`, { content: { type: 'text', text: step.edit } });
    return;
  }
  if ('regenerate' in step) {
    const { id } = await lastMessage(user, 'agent');
    await user.must('POST', `${workspaceOf(user)}/messages/${id}/regenerate`);
    return;
  }
  const path = `/v1/agents/${agentId(user, step.agent)}/memories/${encodeURIComponent(step.delete_memory)}`;
  const { status } = await user.client.api('DELETE', path);
  if (status >= 300) throw new StepFailed(`the memory ${step.delete_memory} does not exist`);
}

/** Takes the steps in order. Waits for the agents after each step, unless the user stops or steers them next. */
export async function takeSteps(context: StepContext, steps: readonly UserStep[]): Promise<void> {
  for (const [index, step] of steps.entries()) {
    await act(context, step);
    const next = steps[index + 1];
    if (next === undefined || !('stop' in next || 'steer' in next)) await idle(context);
  }
}
