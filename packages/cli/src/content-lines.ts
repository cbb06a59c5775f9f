import type { AgentData, MessageContent, MessageData } from '@uswarm/contract';
import type { NumberedAction } from './choices.js';
import { oneLine, visibleLines } from './terminal-text.js';

type Content<Type extends MessageContent['type']> = Extract<MessageContent, { type: Type }>;
export type Delegation = Content<'delegation'>;
export type Workflow = Content<'workflow'>;

const MARKS = { pending: '○', running: '▸', completed: '✓', failed: '✗', cancelled: '✗' } as const;

const nameOf = (agent: AgentData | null | undefined): string => oneLine(agent?.name ?? 'an agent');

const titled = (text: string): string => `“${oneLine(text)}”`;

/** One line about a tool call. The description names what it does, or why it failed. */
export function toolLine(agent: string, { tool, description, state }: Content<'tool_status'>): string {
  const what = oneLine(description);
  const about = what === '' ? '' : `: ${what}`;
  return state === 'running' ? `${agent} uses ${oneLine(tool)}${about}` : `${oneLine(tool)} ${state}${about}`;
}

/** One line about a delegation, indented by its depth. */
export function delegationLine({ from, to, status, task_preview: task }: Delegation, depth: number): string {
  return `${'  '.repeat(depth)}${MARKS[status]} ${nameOf(from)} → ${nameOf(to)} (${status}): ${oneLine(task)}`;
}

export const workflowLine = ({ workflow_name: name, status }: Workflow): string =>
  `${MARKS[status]} Workflow ${titled(name)} (${status})`;

/** One line per step. */
export function stepLines({ steps }: Workflow): string[] {
  return steps.map(
    ({ name, agent_slug: agent, status }) => `  ${MARKS[status]} ${oneLine(name)} (@${oneLine(agent)}, ${status})`,
  );
}

/** One line about an artifact version. `number` opens it in an interactive chat. */
export function artifactLine({ title, version, status, agent_slug: agent }: Content<'artifact'>, open: string): string {
  return `■ Artifact ${titled(title)}, version ${version}, ${status}, by @${oneLine(agent)}. Open it: ${open}`;
}

/** The transcripts of a message's recordings. */
export const transcriptLines = ({ attachments }: Pick<MessageData, 'attachments'>): string[] =>
  attachments.flatMap(({ name, transcript }) => {
    if (!transcript) return [];
    const [first = '', ...rest] = visibleLines(transcript);
    return [`♪ ${titled(name)}: ${first}`, ...rest.map((line) => `  ${line}`)];
  });

/**
 * A card: with numbered actions while it is open, otherwise with the choice.
 *
 * @param isQuestion true while an app waits for the answer
 */
export function cardLines(
  { title, description, actions, selected_action_id: selected }: Content<'action_card'>,
  open: readonly NumberedAction[],
  isQuestion: boolean,
): string[] {
  const chosen = actions.find(({ id }) => id === selected);
  if (chosen !== undefined) return [`✓ ${oneLine(title)} You chose: ${oneLine(chosen.label)}`];
  if (open.length === 0 && !isQuestion) return [`✗ ${oneLine(title)} This card can no longer be chosen.`];
  return [
    `? ${oneLine(title)}`,
    ...(description === '' ? [] : visibleLines(description).map((line) => `  ${line}`)),
    ...(isQuestion ? ['  Answer it on the page or in an app.'] : []),
    ...open.map(({ number, label }) => `  [${number}] ${oneLine(label)}`),
  ];
}

type MessageError = NonNullable<MessageData['error']>;

/** Why a reply failed or is incomplete. An otherwise empty reply has the reason as its text already. */
export function failureLine(status: 'failed' | 'incomplete', error: MessageError | null, text: string): string {
  const what = status === 'failed' ? 'The turn failed' : 'The answer is incomplete';
  if (error === null) return `${what}.`;
  if (error.message === text) return `${what} (${oneLine(error.code)}).`;
  return `${what}: ${oneLine(error.message)} (${oneLine(error.code)})`;
}
